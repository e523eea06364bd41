//go:build unix

package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
)

const (
	// MaxBytes bounds one file: a result of 256 KiB, every byte of it escaped.
	MaxBytes = 2 << 20
	// MaxFiles bounds the files that one look delivers for a life.
	MaxFiles = 100
	// maxListed is how many files of a folder are looked at for them.
	maxListed = 10_000
)

// Spool is the folder of what the agent of one life could not deliver.
type Spool struct {
	Folder string // of the life
	Intent disk.Intent
}

// List gives the paths of what is ready, in order, MaxFiles at most. Files that passed tells to pass over
// are left out.
func (s Spool) List(passed func(path string) bool) []string {
	folder, err := os.Open(s.path())
	if err != nil {
		return nil
	}
	defer folder.Close()
	// The folder is the agent's: of millions of files only so many are looked at, the rest when these are gone.
	entries, _ := folder.Readdirnames(maxListed)
	var names []string
	for _, name := range entries {
		path := filepath.Join(s.path(), name)
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") && !passed(path) {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), MaxFiles)]
}

// path is where the files are.
func (s Spool) path() string { return filepath.Join(s.Folder, shim.SpoolFolder) }

// Holds tells whether a path that List gave is of this spool.
func (s Spool) Holds(path string) bool { return filepath.Dir(path) == s.path() }

// Read reads one file. The folder belongs to the agent, which may be anybody: what
// is in it must not make this daemon read or wait for anything else.
func (s Spool) Read(path string) (c Completion, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok || int(st.Uid) != s.Intent.SpoolOwner {
		return c, errors.New("it is not a file of the agent's own")
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("it has more than %d bytes", MaxBytes)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && (c.Agent != s.Intent.AgentName || c.Incarnation != s.Intent.Incarnation) {
		err = fmt.Errorf("it speaks for incarnation %d of %s", c.Incarnation, c.Agent)
	}
	return c, err
}

// Crowded tells whether a file could not be read for reasons that pass: it must not
// be thrown away for them.
func Crowded(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
