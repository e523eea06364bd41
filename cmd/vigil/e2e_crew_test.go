//go:build linux

package main_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// crewScript is an agent that people might write: a shell and this program. Before
// it works it writes itself into a ledger, which the system knows nothing of, and
// looks whether an earlier life of the same agent still runs. A task called "stuck"
// hangs at its first attempt before it is started, one called "held" afterwards ("held mute"
// after a health report that stays its only one); one
// called "told" is a long call of a tool, which it declares, until a file is there. With
// "post" in the title the agent waits for mail, looks once more, and acknowledges what it
// got before it completes.
const crewScript = `
{ while read -r _ agent life pid; do
    [ "$agent" = "$VIGIL_AGENT" ] || continue
    if read -r _ _ state _ </proc/$pid/stat && [ "$state" != Z ] && [ "$state" != X ]; then
      echo "twice $VIGIL_AGENT $VIGIL_INCARNATION $$" >>"$LEDGER"
    fi
  done <"$LEDGER"; } 2>/dev/null
echo "start $VIGIL_AGENT $VIGIL_INCARNATION $$" >>"$LEDGER"
while line=$("$VIGIL" wait-for-task); do
  case "$line" in *" attempt 1,"*": stuck"*) exec sleep 3600;; esac
  case "$line" in *": told"*) "$VIGIL" declare in-tool --for 1h "a long build" || exit;; esac
  "$VIGIL" task start || exit
  case "$line" in *": told"*) until [ -e "$LEDGER.go" ]; do sleep 0.1; done;; esac
  case "$line" in *": "*post*)
    got=$("$VIGIL" mail read --wait) || exit
    { echo "$got"; "$VIGIL" mail read; } >>"$LEDGER.mail";;
  esac
  case "$line" in *" attempt 1,"*": held mute"*) "$VIGIL" declare healthy || exit;; esac
  case "$line" in *" attempt 1,"*": held"*) exec sleep 3600;; esac
  case "$line" in *": "*post*) "$VIGIL" mail ack $(echo "$got" | sed -n 's/^mail \([0-9]*\), .*/\1/p') || exit;; esac
  "$VIGIL" task complete done && echo "done $VIGIL_AGENT $VIGIL_INCARNATION ${line%%,*}" >>"$LEDGER"
done
`

// crew is a fleet with one more host, whose agents keep a ledger.
type crew struct {
	*testFleet
	host *crewHost
	ttl  time.Duration // of roles that say none; zero: 2 s
}

// crewHost is the agentd of a crew; it outlives the subtest that starts it again.
type crewHost struct {
	t *testing.T
	*proc
}

func newCrew(t *testing.T, before ...func(*testFleet)) *crew {
	t.Helper()
	setenv(t, "XDG_RUNTIME_DIR", shortLived(t)) // lives that are started by hand
	c := &crew{testFleet: newFleet(t, before...), host: &crewHost{t: t}}
	c.write("ledger", "")
	c.write("home/.keep", "")
	c.write("crew.sh", crewScript)
	c.write("crew.yaml", fmt.Sprintf(`
servers: [%s]
insecure: true
data_dir: %q
name: crew
runners:
  - name: crew
    program: sh
    user: %q
    args: [%q]
    env: {VIGIL: %q, LEDGER: %q, HOME: %q}
    env_allow: [PATH]
`, strings.Join(c.api, ", "), c.path("crew"), runner.SameUser(), c.path("crew.sh"),
		vigil(t), c.path("ledger"), c.path("home")))
	c.startHost()
	t.Cleanup(func() { c.clear("crew", c.host.proc) })
	return c
}

// startHost starts the crew's agentd, for the first time or again.
func (c *crew) startHost() {
	c.t.Helper()
	c.host.proc = spawn(c.host.t, "crew", "agentd", "--config", c.path("crew.yaml"))
}

// in is the same crew for a subtest.
func (c *crew) in(t *testing.T) *crew {
	f := *c.testFleet
	f.t = t
	return &crew{testFleet: &f, host: c.host, ttl: c.ttl}
}

// role declares the room's only role, a, with short limits.
func (c *crew) role(room string, change func(*vigilv1.RoleSpec)) {
	c.t.Helper()
	spec := &vigilv1.RoleSpec{Name: "a", Runner: "crew", Replicas: 1,
		Ttl: durationpb.New(cmp.Or(c.ttl, 2*time.Second)), StopGrace: durationpb.New(300 * time.Millisecond)}
	if change != nil {
		change(spec)
	}
	if _, err := c.fleet.ApplyRoom(c.ctx(),
		&vigilv1.ApplyRoomRequest{Room: room, By: "test", Roles: []*vigilv1.RoleSpec{spec}}); err != nil {
		c.t.Fatalf("apply room: %v", err)
	}
}

// byHand makes a role whose agents are started by hand.
func byHand(ttl time.Duration, replicas uint32) func(*vigilv1.RoleSpec) {
	return func(s *vigilv1.RoleSpec) {
		s.Runner, s.Replicas, s.Ttl, s.StopGrace = "", replicas, durationpb.New(ttl), durationpb.New(ttl/8)
	}
}

// task creates a task for the role a of a room.
func (c *crew) task(room, title string) uint64 {
	c.t.Helper()
	task, err := c.fleet.CreateTask(c.ctx(), &vigilv1.CreateTaskRequest{Room: room, Role: "a", Title: title,
		By: "test"})
	if err != nil {
		c.t.Fatalf("create task: %v", err)
	}
	return task.GetId()
}

// sees waits for an event about an agent or, when task is not 0, about that task.
func (c *crew) sees(kind, agent string, task uint64) *vigilv1.Event {
	c.t.Helper()
	return c.await(fmt.Sprintf("%s of %s %d", kind, agent, task), func(e *vigilv1.Event) bool {
		return e.GetKind() == kind && (agent == "" || e.GetAgent() == agent) && (task == 0 || e.GetTask() == task)
	})
}

// took logs the time since began.
func (c *crew) took(what string, began time.Time) time.Duration {
	d := time.Since(began)
	c.t.Logf("%s: %s", what, d.Round(time.Millisecond))
	return d
}

// starts reads the ledger: the number of lives of the agent. It fails the test when
// two of them ran at the same moment, or when one number was used twice (law L7).
func (c *crew) starts(agent string) int {
	c.t.Helper()
	text, err := os.ReadFile(c.path("ledger"))
	if err != nil {
		c.t.Fatal(err)
	}
	lives := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != agent {
			continue
		}
		switch {
		case f[0] == "twice":
			c.t.Errorf("L7: %s ran twice at the same moment: %s", agent, line)
		case f[0] == "start" && lives[f[2]]:
			c.t.Errorf("L7: life %s of %s was started twice", f[2], agent)
		case f[0] == "start":
			lives[f[2]] = true
		}
	}
	return len(lives)
}

// kill ends the process of an agent as a crash would.
func (c *crew) kill(agent *vigilv1.Agent) time.Time {
	c.t.Helper()
	if err := syscall.Kill(int(agent.GetPid()), syscall.SIGKILL); err != nil {
		c.t.Fatalf("kill %s, pid %d: %v", agent.GetName(), agent.GetPid(), err)
	}
	return time.Now()
}

// cli starts the program as a person would, against all servers.
func (c *crew) cli(args ...string) *proc {
	c.t.Helper()
	return spawn(c.t, strings.Join(args, " "), append([]string{"--addr", strings.Join(c.api, ",")}, args...)...)
}

// launch starts any command with the program's address; it gets a process group
// of its own, which is killed at the end of the test.
func launch(t *testing.T, name string, cmd *exec.Cmd) *proc {
	t.Helper()
	p := &proc{t: t, name: name, cmd: cmd, done: make(chan struct{})}
	if cmd.Env == nil {
		cmd.Env = environ(t)
	}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.out
	}
	cmd.Stderr = &p.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second // children may hold the pipes
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal follows this thread
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the state is looked at by the test
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may be gone
		<-p.done
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, p.out.tail())
		}
	})
	return p
}

// claimed waits until a wait-for-task has ended well with a task.
func (p *proc) claimed(task uint64) {
	p.t.Helper()
	code := p.end()
	if want := fmt.Sprintf("task %d, attempt ", task); code != 0 || !strings.HasPrefix(p.out.String(), want) {
		p.t.Fatalf("%s ended with %d: %s", p.name, code, p.out.tail())
	}
}

// shortLived is t.TempDir for a folder into which processes that outlive their
// command (those that beat for lives that are started by hand) still write.
func shortLived(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hand")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Errorf("remove folder: %v", err)
				return
			}
		}
	})
	return dir
}
