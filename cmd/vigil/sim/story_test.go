package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/jepsen/history"
)

// story is the record of a run for people: what was broken and what was done, in
// nanoseconds of simulated time, in the files of package history.
type story struct {
	begun  time.Time
	mu     sync.Mutex
	faults []history.Fault
	ops    []history.Op
}

func (s *story) fault(kind, lane, note string, from, to time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, history.Fault{Kind: kind, Lane: lane, Note: note, From: int64(from), To: int64(to)})
}

func (s *story) op(o history.Op) {
	o.Return, o.Outcome = s.now(), history.OK
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = append(s.ops, o)
}

func (s *story) life(kind, agent string, inc fsm.Incarnation, host int, index uint64) {
	s.op(history.Op{Workload: "lives", Via: fmt.Sprint("host-", host), Kind: kind, Agent: agent, Incarnation: uint64(inc), Index: index})
}

func (s *story) task(kind string, id fsm.TaskID, attempt uint32, who string, index uint64) {
	s.op(history.Op{Workload: "sim", Kind: kind, Task: uint64(id), Attempt: attempt, Value: who, Index: index})
}

// intent is what a human asked for; a start counts from the moment it is asked for.
func (s *story) intent(kind, agent string, inc fsm.Incarnation, index uint64) {
	now := s.now()
	s.op(history.Op{Workload: "intent", Kind: kind, Key: agent, Agent: agent, Incarnation: uint64(inc), Call: now, Index: index})
}

// write leaves the record in a folder.
func (s *story) write(dir string, run history.Run, events []history.Event, breaches []breach, summary string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var text string
	for _, b := range breaches {
		text += b.law + ": " + b.text + "\n"
	}
	return errors.Join(
		lines(filepath.Join(dir, "events.jsonl"), events),
		os.WriteFile(filepath.Join(dir, "breaches.txt"), []byte(run.Command+"\n\n"+text+"\n"+summary), 0o644),
		lines(filepath.Join(dir, "run.json"), []history.Run{run}),
		lines(filepath.Join(dir, "faults.jsonl"), s.faults),
		lines(filepath.Join(dir, "history.jsonl"), s.ops))
}

func lines[T any](path string, list []T) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	for i := range list {
		if err := out.Encode(&list[i]); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
