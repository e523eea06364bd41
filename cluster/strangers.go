package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	saidAgain  = time.Hour // after which the same is worth another line
	mostSaid   = 256       // that are remembered
	turnedAway = "peer turned away"
)

// strangers writes one line for whoever is turned away, not one for each try: others try again several
// times a second. The repetitions are debug lines. Safe for concurrent use.
type strangers struct {
	log  hclog.Logger
	mu   sync.Mutex
	said map[[2]string]time.Time // by what failed and who it was
}

func newStrangers(log hclog.Logger) *strangers {
	return &strangers{log: log, said: map[[2]string]time.Time{}}
}

// say tells what failed, for whom (an id or a host), and why.
func (s *strangers) say(what, who string, err error) {
	key, now := [2]string{what, who}, time.Now()
	s.mu.Lock()
	at, was := s.said[key]
	again := was && now.Sub(at) < saidAgain
	if !again {
		if len(s.said) >= mostSaid {
			clear(s.said)
		}
		s.said[key] = now
	}
	s.mu.Unlock()
	if again {
		s.log.Debug(turnedAway, "from", who, "at", what, "error", err)
		return
	}
	s.log.Warn(turnedAway, "from", who, "at", what, "error", err)
}
