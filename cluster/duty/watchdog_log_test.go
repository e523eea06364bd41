package duty

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// logged is what a duty writes.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The watchdog says each step with names and numbers; nothing of a task is in any of
// them; the last one has the final counts, and nothing is canceled after it.
func TestWatchdogLogMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := silentRooms(t, 2), &logged{}
		inStint(t, r, Config{Logger: hclog.New(&hclog.LoggerOptions{Output: out, Level: hclog.Debug})}, func(*Duty) {
			r.after(20 * time.Minute)
			r.do(fsm.CreateTask{Room: "r00", Role: "x", Title: "secret"})
			r.mu.Lock()
			r.fail = noun.ErrUnknownOutcome
			r.mu.Unlock()
			r.after(6 * time.Minute)
			r.mu.Lock()
			r.fail = nil
			r.mu.Unlock()
		})
		canceled := len(r.happened("room.canceled"))
		r.after(time.Hour)
		if now := len(r.happened("room.canceled")); now != canceled || now != 2 {
			t.Errorf("%d rooms were canceled, and %d after the stint had ended", canceled, now-canceled)
		}
		text := out.String()
		for seed, want := range map[string]string{
			"Starting conversation watchdog": "conversation watchdog starts: " +
				"enabled=true interval=5m0s threshold=10m0s",
			"Canceling, Stopped agents, Successfully canceled": "canceled a silent room: room=r01 tasks=1",
			"Checking 5 active conversations; Check complete in 150ms, canceled 2": "conversation watchdog has looked: " +
				"visited=2 warn=2 cancel=2 took=",
			"Error during check": "conversation watchdog could not write: error=",
			"Final stats": "conversation watchdog stops: passes=3 " +
				"visited=6 warn=2 cancel=2 errors=2",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: nothing says %q", seed, want)
			}
		}
		if strings.Contains(text, "secret") {
			t.Error("the log holds what a task says")
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}

// Rooms in which something is done all the time are none of the watchdog's business, beside
// one that is silent.
func TestWatchdogConcurrentOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := silentRooms(t, 3)
		inStint(t, r, Config{}, func(d *Duty) {
			for range 40 {
				r.after(time.Minute)
				r.do(fsm.CreateTask{Room: "r00", Role: "x", Title: "t"})
				r.do(fsm.SetAgent{Agent: "r02/x", By: "ann"})
			}
			if got := r.happened("room.canceled"); len(got) != 1 || got[0] != "r01" {
				t.Errorf("canceled were %v, want r01 alone", got)
			}
		})
	})
}
