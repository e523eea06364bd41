package output

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Config says where logs are kept and how large they get.
type Config struct {
	Dir      string // absolute; made when it is first needed
	MaxBytes int64  // size at which a file is rotated; 0: 10 MiB
	Keep     int    // rotated files kept beside the current one; 0: 3, at most 100
}

// Dir is the folder of all logs of a host. It is safe for concurrent use.
type Dir struct {
	config Config
	mu     sync.Mutex
	logs   map[string]*Log
}

// NewDir gives the logs below config.Dir. It touches no file.
func NewDir(config Config) *Dir {
	if config.MaxBytes <= 0 {
		config.MaxBytes = 10 << 20
	}
	if config.Keep <= 0 {
		config.Keep = 3
	}
	config.Keep = min(config.Keep, 100)
	return &Dir{config: config, logs: map[string]*Log{}}
}

var segment = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// SplitName splits room/agent and refuses what could leave a folder.
func SplitName(name string) (room, agent string, err error) {
	room, agent, ok := strings.Cut(name, "/")
	if !ok || !segment.MatchString(room) || !segment.MatchString(agent) {
		return "", "", fmt.Errorf("agent name %q is not room/role or room/role.N", name)
	}
	return room, agent, nil
}

// Log gives the log of an agent (room/role or room/role.2), the same one at every
// call.
func (d *Dir) Log(name string) (*Log, error) {
	room, agent, err := SplitName(name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.logs[name]
	if l == nil {
		path := filepath.Join(d.config.Dir, room, agent+".log")
		l = &Log{path: path, config: d.config, grown: make(chan struct{})}
		d.logs[name] = l
	}
	return l, nil
}

// Close closes all files. Logs that are written to afterwards open theirs again.
func (d *Dir) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.logs {
		l.close()
	}
}
