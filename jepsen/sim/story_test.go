package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vigil/fsm/noun"
	"vigil/jepsen/history"
)

// story is the record of a run for people: what was broken and what was done, in
// nanoseconds of simulated time, in the files of package history.
type story struct {
	begun  time.Time
	mu     sync.Mutex
	calm   int64 // from here on nothing is broken; 0: it did not come to that
	faults []history.Fault
	ops    []history.Op
	looks  []history.Look
}

// fault notes a fault that is over, and what it did to machines as long as it lasted.
func (s *story) fault(f history.Fault, what string, machines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range machines {
		f.Effects = append(f.Effects, history.Effect{Machine: m, What: what, From: f.From, To: f.To})
	}
	s.faults = append(s.faults, f)
}

// idle notes an agent that proves nothing for a time.
func (s *story) idle(why, agent, host string, from, to time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, history.Fault{Kind: why, Lane: "agents", Note: agent, From: int64(from), To: int64(to),
		Effects: []history.Effect{{Machine: host, What: history.Stopped, Agent: agent, From: int64(from),
			To: int64(to)}}})
}

// asked is a write of people that began at some time. Without an answer nobody knows
// what became of it.
func (s *story) asked(kind string, began time.Duration, answered bool) {
	o := history.Op{Workload: "people", Kind: kind, Call: int64(began) + 1}
	if !answered {
		o.Outcome = history.Unknown
	}
	s.op(o)
}

func (s *story) op(o history.Op) {
	o.Return, o.Outcome = s.now(), cmp.Or(o.Outcome, history.OK)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = append(s.ops, o)
}

func (s *story) life(kind, agent string, inc noun.Incarnation, host int, index uint64) {
	s.op(history.Op{Workload: "lives", Via: fmt.Sprint("host-", host), Kind: kind, Agent: agent,
		Incarnation: uint64(inc), Index: index})
}

func (s *story) task(kind string, id noun.TaskID, attempt uint32, who string, index uint64) {
	s.op(history.Op{Workload: "sim", Kind: kind, Task: uint64(id), Attempt: attempt, Value: who, Index: index})
}

// intent is what a human asked for; a start counts from the moment it is asked for.
func (s *story) intent(kind, agent string, inc noun.Incarnation, index uint64) {
	now := s.now()
	s.op(history.Op{Workload: "intent", Kind: kind, Key: agent, Agent: agent, Incarnation: uint64(inc),
		Call: now, Index: index})
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
		lines(filepath.Join(dir, "looks.jsonl"), s.looks),
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
