package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// present tells whether an agent is in its room.
func (f *mcpFleet) present(agent string) bool {
	return f.agent(agent).GetParticipant() != "DISCONNECTED"
}

// Nobody calls a tool, and the agent lives.
func TestMCPBeatsWhileItRuns(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second // a beat a second
	f := newMCPFleet(t, ttl)
	c := f.connect("web/builder")
	f.until("the join", func() bool { return f.present("web/builder") })
	life := f.agent("web/builder").GetIncarnation()
	var last time.Time
	for beats := 0; beats < 3; beats++ {
		f.until("a beat", func() bool {
			seen := must(f.fleet.GetAgentStatus(f.ctx(),
				&vigilv1.GetAgentStatusRequest{Agent: "web/builder"}))(t).GetLastSeen().AsTime()
			if seen.Sub(last) < ttl/8 {
				return false
			}
			last = seen
			return true
		})
	}
	if got := f.agent("web/builder").GetIncarnation(); got != life {
		t.Errorf("life %s became %s", life, got)
	}
	c.says("my_status", nil, "life "+life)
}

// L5: the end of standard input is the end of the agent's part in the room, also while
// a wait is under way, and a task by hand goes back to its role.
func TestMCPLeavesAtTheEndOfInput(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]bool{"while it waits": false, "while it works": true} {
		t.Run(name, func(t *testing.T) {
			f := newMCPFleet(t, time.Minute)
			c := f.connect("web/builder")
			var task uint64
			if held {
				task = f.task("builder", "Build it", "")
				c.claims(task)
				c.says("start_task", nil)
			} else {
				c.says("my_status", nil, "You hold no task")
				c.begin("wait_for_task", map[string]any{"seconds": 3600})
			}
			if len(c.lives()) != 1 {
				t.Errorf("kept %v: hooks would not know the life", c.lives())
			}
			_ = c.stdin.Close() // never fails
			if code := c.end(); code != 0 {
				t.Errorf("exit code %d: %s", code, c.log)
			}
			if f.present("web/builder") {
				t.Error("it is still in the room")
			}
			if held && f.get(task).GetState() != vigilv1.TaskState_PENDING {
				t.Errorf("the task is %v", f.get(task))
			}
			if len(c.lives()) != 0 {
				t.Errorf("kept %v of a life that is over", c.lives())
			}
		})
	}
}

func TestMCPLeavesAtASignal(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	c.says("my_status", nil)
	c.begin("wait_for_task", map[string]any{"seconds": 3600})
	c.stop(cli.SignalError{Sig: syscall.SIGTERM})
	if code := c.end(); code != 143 || f.present("web/builder") {
		t.Errorf("exit code %d, in the room: %v", code, f.present("web/builder"))
	}
}

// The AI tool of a managed agent may only have started `vigil mcp` again.
func TestMCPOfAManagedAgentStaysWithItsTask(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, State: vigilv1.TaskState_IN_PROGRESS,
		Title: "Build", Text: "quietly"}, true
	spool := t.TempDir()
	c := connect(t, map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder",
		"VIGIL_INCARNATION": "9", "VIGIL_TOKEN": "hidden", "VIGIL_SPOOL": spool})
	c.says("wait_for_task", map[string]any{"start": true}, "Task 41, attempt 2", "It is started")
	s.mu.Lock()
	if want := `start  {"agent":"web/builder","incarnation":"9","token":"hidden"}`; len(s.said) != 1 ||
		s.said[0] != want {
		t.Errorf("the server heard %q, want %q", s.said, want)
	}
	s.mu.Unlock()
	_ = c.stdin.Close() // never fails
	if code := c.end(); code != 0 || len(s.left) != 0 {
		t.Errorf("exit code %d, left %d times", code, len(s.left))
	}
	if b := must(os.ReadFile(filepath.Join(spool, life.HeldFile)))(t); strings.Contains(string(b), "hidden") ||
		!strings.Contains(string(b), `"task":41`) {
		t.Errorf("kept %s", b)
	}
	if log := c.log.String(); len(c.lives()) != 0 || strings.Contains(log, "hidden") ||
		strings.Contains(log, "quietly") {
		t.Errorf("kept %v, logged %s", c.lives(), log)
	}
}

// A life that is over says so once and for all, also in the middle of a wait.
func TestMCPStopsWhenItsLifeIsSuperseded(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	c.says("my_status", nil, "You are web/builder")
	old := f.agent("web/builder").GetIncarnationRaw()
	wait := c.begin("wait_for_task", map[string]any{"seconds": 3600})
	f.until("a newer life", func() bool {
		// It takes its place again when it is faster: then once more.
		_, _ = f.work.Leave(f.ctx(),
			&vigilv1.LeaveRequest{Speaker: &vigilv1.Speaker{Agent: "web/builder", Incarnation: old}})
		w, err := client.Join(f.ctx(), f.client, client.WorkerConfig{Agent: "web/builder"})
		if err != nil {
			return false
		}
		t.Cleanup(func() { _ = w.Leave(context.Background(), "the test ends") }) // the server ends too
		return true
	})
	r := <-wait
	if r.err != nil || !r.failed {
		t.Errorf("the wait ended with %+v", r)
	}
	r.holds(t, "wait_for_task", "STOP: life", "is over", "end the session")
	for tool, args := range map[string]map[string]any{"wait_for_task": nil, "progress": {"note": "x"},
		"my_status": nil, "read_mail": nil, "send_mail": {"to": "web", "body": "x"}} {
		c.refuses(tool, args, "STOP: life")
	}
	if now := f.agent("web/builder"); now.GetIncarnationRaw() <= old || now.GetParticipant() == "DISCONNECTED" {
		t.Errorf("the newer life was disturbed: %v", now)
	}
}

// A human's word wins: the model is told to drop the work, and goes on with the next.
func TestMCPDropsATaskThatWasCanceled(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	first := f.task("builder", "Build it", "")
	c.claims(first)
	c.says("start_task", nil)
	must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: first, By: "ann"}))(t)
	c.says("colleagues", nil, "DROP THIS WORK: attempt 1 at task 1 is no longer yours: it is canceled")
	c.refuses("complete_task", map[string]any{"result": "x"}, "No task is held")
	second := f.task("builder", "Another", "")
	c.claims(second)
	c.says("start_task", nil)
	must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: second, By: "ann"}))(t)
	c.refuses("complete_task", map[string]any{"result": "x"}, "DROP THIS WORK: attempt 1 at task 2")
	if got := f.get(second); got.GetState() != vigilv1.TaskState_CANCELED {
		t.Errorf("the task is %v", got)
	}
}

// The lease ends while the model works, as after a pause of its host: the task goes back
// to its role, but a result counts while nobody has taken it up again.
func TestMCPTakesAResultAfterItsLeaseHasEnded(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, 4*time.Second)
	c := f.connect("web/builder")
	task := f.task("builder", "Build it", "")
	c.claims(task)
	c.says("start_task", nil)
	me := &vigilv1.Speaker{Agent: "web/builder", Incarnation: f.agent("web/builder").GetIncarnationRaw()}
	must(f.work.Leave(f.ctx(), &vigilv1.LeaveRequest{Speaker: me}))(t)
	f.until("the next beat, which joins again", func() bool { return f.present("web/builder") })
	said := c.says("complete_task", map[string]any{"result": "done"})
	// without a notice that it is lost
	if text := fmt.Sprint(said["message"]); !strings.HasPrefix(text, "Task 1 is completed") {
		t.Errorf("it says %q", text)
	}
	if got := f.get(task); got.GetState() != vigilv1.TaskState_COMPLETED || got.GetResult() != "done" {
		t.Errorf("the task is %v", got)
	}
	c.refuses("progress", map[string]any{"note": "x"}, "No task is held")
}

// A client that has given a call up does not always say so: the newest wait counts.
func TestMCPNewestWaitWins(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	c := f.connect("web/builder")
	args := map[string]any{"seconds": 3600}
	one, two := c.begin("wait_for_task", args), c.begin("wait_for_task", args)
	var ended mcpReply
	select { // they may come in either order
	case ended = <-one:
		one = two
	case ended = <-two:
	}
	if ended.err != nil || !ended.failed {
		t.Errorf("the first answer is %+v", ended)
	}
	ended.holds(t, "wait_for_task", "taken the place of this one")
	f.task("builder", "Build it", "")
	r := <-one
	r.holds(t, "wait_for_task", "This task is yours now")
}

// While no server answers the model is told that nothing is lost; the join is tried on.
func TestMCPWithoutAServer(t *testing.T) {
	t.Parallel()
	c := connect(t, map[string]string{"VIGIL_ADDR": freeAddr(t)}, "--agent", "web/builder", "--timeout", "1s")
	c.refuses("my_status", nil, "web/builder has not joined its room yet", "vigil goes on trying")
	_ = c.stdin.Close() // never fails
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.log)
	}
}

// spooling is a client of one that holds task 41 and may leave what it says in a spool folder; each call may take
// that long.
func spooling(t *testing.T, timeout string) (s *cannedServer, c *mcpClient, spool string) {
	t.Helper()
	s, spool = newCanned(t), t.TempDir()
	s.task, s.give = &vigilv1.Task{Id: 41, Attempt: 2, State: vigilv1.TaskState_IN_PROGRESS, Title: "Build"}, true
	s.agent = &vigilv1.GetAgentResponse{Task: s.task, Agent: &vigilv1.Agent{Task: 41, IncarnationRaw: 9}}
	return s, connect(t, map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder",
		"VIGIL_INCARNATION": "9", "VIGIL_TOKEN": "hidden", "VIGIL_SPOOL": spool}, "--timeout", timeout), spool
}

// A result outlives the servers: agentd delivers it.
func TestMCPLeavesAResultWithAgentd(t *testing.T) {
	t.Parallel()
	s, c, spool := spooling(t, "1s")
	r := <-c.begin("wait_for_task", nil)
	// it has joined when this machine has found the time
	for end := time.Now().Add(mcpPatience); r.failed && time.Now().Before(end); {
		r = <-c.begin("wait_for_task", nil)
	}
	r.holds(t, "wait_for_task", "Task 41, attempt 2")
	s.mu.Lock()
	s.err = refusal(codes.Unavailable, "no_leader", "No leader.")
	s.mu.Unlock()
	c.says("complete_task", map[string]any{"result": "done"}, "the result of task 41 is left with this host's agentd")
	files := must(filepath.Glob(filepath.Join(spool, "*.json")))(t)
	if len(files) != 1 {
		t.Fatalf("left %v", files)
	}
	if b := must(os.ReadFile(files[0]))(t); !strings.Contains(string(b), `"done"`) {
		t.Errorf("left %s", b)
	}
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	c.says("my_status", nil, "You hold no task") // which has nothing left to do
}

// A signal that meets the last word while no server answers loses no result: agentd gets it before this process ends.
func TestMCPLeavesAResultWithAgentdAtASignal(t *testing.T) {
	t.Parallel()
	s, c, spool := spooling(t, "5m")
	c.says("wait_for_task", nil, "Task 41, attempt 2")
	s.mu.Lock()
	s.err = refusal(codes.Unavailable, "no_leader", "No leader.")
	s.mu.Unlock()
	c.begin("complete_task", map[string]any{"result": "done"})
	heard := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.called[vigilv1.Work_CompleteTask_FullMethodName]
	}
	for end := time.Now().Add(mcpPatience); !heard() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	c.stop(cli.SignalError{Sig: syscall.SIGTERM})
	if code := c.end(); code != 143 {
		t.Errorf("exit code %d: %s", code, c.log)
	}
	files := must(filepath.Glob(filepath.Join(spool, "*.json")))(t)
	if len(files) != 1 {
		t.Fatalf("left %v", files)
	}
	if b := must(os.ReadFile(files[0]))(t); !strings.Contains(string(b), `"done"`) {
		t.Errorf("left %s", b)
	}
}
