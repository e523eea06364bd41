package gossip

import (
	"bytes"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// lines takes the library's log. Probes that fail are everyday events, so all of it
// is for debugging, but what tells of a wrong key, label or name: people must see
// that, once a minute.
type lines struct {
	log hclog.Logger

	mu   sync.Mutex
	said time.Time
}

var warnings = [][]byte{[]byte("ecrypt"), []byte("unacceptable label"), []byte("is not encrypted"),
	[]byte("no member's name")}

// Write implements io.Writer: one line.
func (l *lines) Write(line []byte) (int, error) {
	n := len(line)
	line = bytes.TrimSpace(line)
	if end := bytes.Index(line, []byte("memberlist: ")); end >= 0 {
		line = line[end+len("memberlist: "):]
	}
	for _, w := range warnings {
		if !bytes.Contains(line, w) {
			continue
		}
		l.mu.Lock()
		now := time.Now()
		again := now.Sub(l.said) < time.Minute
		if !again {
			l.said = now
		}
		l.mu.Unlock()
		if !again {
			l.log.Warn("gossip from outside the cluster was dropped: do all members have the same "+
				"gossip key?", "detail", string(line))
			return n, nil
		}
	}
	l.log.Debug(string(line))
	return n, nil
}
