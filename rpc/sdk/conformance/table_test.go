package conformance

import (
	"time"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// fault is what a server does to some calls of a method, in the place of nothing.
type fault struct {
	on     string // the method; BeatHeld: a beat while a task is held
	from   int    // the first call that it befalls, from 1
	times  int
	before func(c *cluster, s *server) error // an error is the answer, and nothing is carried out
	after  func(c *cluster, s *server)       // when it was carried out, before anybody hears of it
}

// story is a row of the table: what servers do, and what a worker must.
type story struct {
	name    string
	tasks   []string // texts
	servers int      // 0: one
	socket  bool     // a managed life, at its socket
	script  []fault
	retry   string // seconds for which a call is repeated; "": as always

	done    []string       // how each task must end; "": it is taken away
	handled int            // how often the function is called
	told    int            // how often it is told that nobody wants the result
	ends    string         // the code with which the worker ends by itself; "": it lives on
	says    string         // what the text of that error holds, so that people know the remedy
	same    string         // the method that is sent again, each time under the same write id and as a repetition
	most    map[string]int // how often a method may be sent
	left    bool           // it leaves its room
	stop    bool           // it gets SIGTERM as soon as its function works
}

func refuse(name string) func(*cluster, *server) error {
	return func(*cluster, *server) error { return refused(name, "") }
}

// lost cuts the connections of the server: an answer gets lost.
func lost(_ *cluster, s *server) { s.cut() }

// dropped cuts them before anything was carried out.
func dropped(_ *cluster, s *server) error {
	s.cut()
	return errCut
}

// late holds an answer back.
func late(d time.Duration) func(*cluster, *server) {
	return func(*cluster, *server) { <-time.After(d) }
}

// frozen has a server say nothing any more.
func frozen(_ *cluster, s *server) error {
	s.freeze(true)
	return nil
}

// away has no server answer for a while.
func away(d time.Duration) func(*cluster, *server) error {
	return func(c *cluster, _ *server) error {
		for _, s := range c.servers {
			s.end(true)
		}
		time.AfterFunc(d, func() {
			for _, s := range c.servers {
				s.end(false)
			}
		})
		return errCut
	}
}

// elsewhere sends the caller to the last server.
func elsewhere(c *cluster, s *server) error {
	if last := c.servers[len(c.servers)-1]; last != s {
		return refused(code.NotLeader, last.addr)
	}
	return nil
}

// state makes a change that the caller of the moment is not asked about.
func state(change func(c *cluster)) func(*cluster, *server) error {
	return func(c *cluster, _ *server) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		change(c)
		c.touch()
		return nil
	}
}

// taken has the task that is held go elsewhere.
func taken(c *cluster) {
	if c.holds != 0 {
		c.tasks[c.holds-1].State, c.holds = vigilv1.TaskState_CANCELED, 0
	}
}

func superseded(c *cluster) { taken(c); c.superseded = true }

func expired(c *cluster) { taken(c); c.leased = false }

func forgotten(c *cluster) { clear(c.sessions) }

var stories = []story{
	{name: "a task is done", tasks: []string{"progress", "quick"}, done: []string{"completed: done", "completed: done"},
		handled: 2, left: true, most: map[string]int{"Next": 2, "Join": 1, "ProgressTask": 1}},
	{name: "a managed life needs its socket only", socket: true, tasks: []string{"progress"},
		done: []string{"completed: done"}, handled: 1, left: true, most: map[string]int{"Next": 1}},
	{name: "the answer to the end is lost", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1,
		same: "Next", left: true, script: []fault{{on: "Next", from: 1, times: 1, after: lost}}},
	{name: "the answer to the end is lost at the socket", socket: true, tasks: []string{"quick"},
		done: []string{"completed: done"}, handled: 1, same: "Next", left: true,
		script: []fault{{on: "Next", from: 1, times: 2, after: lost}}},
	{name: "the answer to the join is lost", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1,
		same: "Join", left: true, script: []fault{{on: "Join", from: 1, times: 1, after: lost}}},
	{name: "the end is late", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1, same: "Next",
		left: true, script: []fault{{on: "Next", from: 1, times: 1, after: late(1200 * time.Millisecond)}}},
	{name: "a wait is lost before its claim", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1,
		left: true, script: []fault{{on: "Wait", from: 1, times: 2, before: dropped}}},
	{name: "a wait is lost after its claim", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1,
		left: true, script: []fault{{on: "Wait", from: 1, times: 1, after: lost}}},
	{name: "nobody leads for a while", tasks: []string{"progress"}, done: []string{"completed: done"}, handled: 1,
		same: "Next", left: true, script: []fault{{on: "Next", from: 1, times: 3, before: refuse(code.NoLeader)},
			{on: "ProgressTask", from: 1, times: 2, before: refuse(code.NoLeader)}}},
	{name: "the outcome is unknown", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1,
		same: "Next", left: true, script: []fault{{on: "Next", from: 1, times: 2, before: refuse(code.UnknownOutcome)}}},
	{name: "the outcome of the end is open, and nobody leads", retry: "1.5", tasks: []string{"quick", "quick"},
		done: []string{"completed: done", "completed: done"}, handled: 2, left: true,
		script: []fault{{on: "Next", from: 1, times: 1, after: lost},
			{on: "Next", from: 2, times: 25, before: refuse(code.NoLeader)}}},
	{name: "another server leads", servers: 3, tasks: []string{"progress"}, done: []string{"completed: done"}, handled: 1,
		left: true, most: map[string]int{"Next": 2},
		script: []fault{{on: "ProgressTask", from: 1, times: 9, before: elsewhere},
			{on: "Next", from: 1, times: 9, before: elsewhere}}},
	{name: "a newer life has begun", tasks: []string{"hold", "quick"}, done: []string{"", ""}, handled: 1, told: 1,
		ends: code.Superseded, most: map[string]int{"Next": 0, "CompleteTask": 0, "FailTask": 0},
		script: []fault{{on: "BeatHeld", from: 2, times: 1, before: state(superseded)}}},
	{name: "a newer life has begun, and a word is refused", tasks: []string{"progress"}, done: []string{""}, handled: 1,
		ends: code.Superseded, most: map[string]int{"ProgressTask": 1, "Next": 0},
		script: []fault{{on: "ProgressTask", from: 1, times: 1, before: state(superseded)}}},
	{name: "the lease has ended", tasks: []string{"hold", "quick"}, done: []string{"", "completed: done"}, handled: 2,
		told: 1, left: true, most: map[string]int{"Join": 3, "Next": 1},
		script: []fault{{on: "BeatHeld", from: 2, times: 1, before: state(expired)}}},
	{name: "a human cancels the task", tasks: []string{"hold", "quick"}, done: []string{"", "completed: done"}, handled: 2,
		told: 1, left: true, most: map[string]int{"Next": 1},
		script: []fault{{on: "BeatHeld", from: 1, times: 1, before: state(taken)}}},
	{name: "no session is to be had", tasks: []string{"quick"}, done: []string{"completed: done"}, handled: 1, left: true,
		script: []fault{{on: "OpenSession", from: 1, times: 99, before: refuse(code.Full)}}},
	{name: "the sessions are forgotten", tasks: []string{"progress", "quick"},
		done: []string{"completed: done", "completed: done"}, handled: 2, left: true,
		script: []fault{{on: "Next", from: 1, times: 1, before: state(forgotten)}}},
	{name: "the certificate is too old", tasks: []string{"quick"}, done: []string{""}, ends: code.AuthExpired,
		says: "The answer is auth_expired.",
		left: true, most: map[string]int{"Wait": 2},
		script: []fault{{on: "Wait", from: 1, times: 99, before: refuse(code.AuthExpired)}}},
	{name: "a server freezes", servers: 3, tasks: []string{"long"}, done: []string{"completed: done"},
		handled: 1, left: true,
		script: []fault{{on: "BeatHeld", from: 1, times: 1, before: frozen}}},
	{name: "a server freezes with the end", servers: 3, tasks: []string{"quick"}, done: []string{"completed: done"},
		handled: 1, same: "Next", left: true, script: []fault{{on: "Next", from: 1, times: 1, before: frozen}}},
	{name: "all servers are away", servers: 3, tasks: []string{"long", "quick"},
		done: []string{"completed: done", "completed: done"}, handled: 2, left: true,
		script: []fault{{on: "BeatHeld", from: 1, times: 1, before: away(2500 * time.Millisecond)}}},
	{name: "all servers are away with the end", servers: 3, retry: "1.5", tasks: []string{"quick", "quick"},
		done: []string{"completed: done", "completed: done"}, handled: 2, left: true,
		script: []fault{{on: "Next", from: 1, times: 1, before: away(2500 * time.Millisecond)}}},
	{name: "the result is refused", tasks: []string{"quick", "quick"},
		done:    []string{"failed: what it returned was refused: The answer is invalid. Kept: done", "completed: done"},
		handled: 2, left: true, script: []fault{{on: "Next", from: 1, times: 1, before: refuse(code.Invalid)}}},
	{name: "the hand-off names no role", tasks: []string{"handoff", "quick"}, done: []string{
		"failed: what it returned was refused: The answer is not_found. Kept: built\n\nfor tester: look at it\nlook at it",
		"completed: done"}, handled: 2, left: true},
	{name: "a refused result that servers cannot keep", tasks: []string{"quick", "quick"},
		done: []string{"failed: what it returned was refused: The answer is not_found.", "completed: done"}, handled: 2,
		left: true, script: []fault{{on: "Next", from: 1, times: 1, before: refuse(code.NotFound)},
			{on: "FailTask", from: 1, times: 1, before: refuse(code.OldServers)}}},
	{name: "a budget is used up", tasks: []string{"quick", "quick"},
		done: []string{"retry in 1m0s: what it returned was refused: The answer is full. Kept: done", "completed: done"}, handled: 2,
		left: true, script: []fault{{on: "Next", from: 1, times: 1, before: refuse(code.Full)}}},
	{name: "beats get no answer", tasks: []string{"long"}, done: []string{"completed: done"}, handled: 1, left: true,
		script: []fault{{on: "BeatHeld", from: 1, times: 3, before: dropped}}},
	{name: "another attempt may succeed", tasks: []string{"retry"}, done: []string{"retry in 3s: "},
		handled: 1, left: true},
	{name: "it is stopped at work", tasks: []string{"stop"}, done: []string{""}, handled: 1, stop: true, left: true,
		most: map[string]int{"Next": 0, "CompleteTask": 0, "FailTask": 0, "Leave": 1}},
	{name: "it fails for good", tasks: []string{"fail"}, done: []string{"failed: "}, handled: 1, left: true},
}
