//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// A server that the log does not reach falls behind, and is not behind when it is reached again. Commits are slow
// while followers stand still for moments.
func TestAlertsOfServersAreRaised(t *testing.T) {
	needsPrometheus(t)
	t.Parallel()
	var w *wire
	f := newFleet(t, func(f *testFleet) {
		f.behind = slices.Clone(f.raft)
		w = newWire(t, f.raft[2:])
		f.raft[2] = w.addrs()[0]
	})
	a := newAlarms(f, job("vigil", f.api...))
	a.fireBy(a.stall, "VigilSlowCommits")
	for a.leads() == 2 { // it would go on leading by the connections that it has made itself
		_, _ = f.status.TransferLeadership(f.ctx(), &vigilv1.TransferLeadershipRequest{}) // or it is asked again
	}
	w.cut(everybody)
	a.fireBy(func() {
		for range 50 {
			a.write()
		}
	}, "VigilServerBehind")
	w.mend()
	a.ends("VigilServerBehind")
	a.all()
}

// leads gives the number of the server that leads; -1: nobody does at the moment.
func (a *alarms) leads() int {
	a.t.Helper()
	st, err := a.status.Status(a.ctx(), &vigilv1.StatusRequest{})
	if err != nil {
		a.t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(st.GetLeader(), "s"))
	if err != nil {
		return -1
	}
	return n - 1
}

// stall has the followers stand still for a moment in which a write waits for one of them. It is shorter than their
// leader takes to give up, but should that do so, its write was slow as well.
func (a *alarms) stall() {
	a.t.Helper()
	leader := a.leads()
	if leader < 0 {
		return
	}
	followers := func(sig syscall.Signal) {
		for i, s := range a.servers {
			if i != leader {
				s.signal(sig)
			}
		}
	}
	followers(syscall.SIGSTOP)
	goOn := time.AfterFunc(150*time.Millisecond, func() { followers(syscall.SIGCONT) })
	defer goOn.Stop()
	defer followers(syscall.SIGCONT)
	a.write()
}

// write has the leader write an entry, if it goes on leading.
func (a *alarms) write() {
	a.t.Helper()
	_, _ = a.status.PutSettings(a.ctx(), &vigilv1.PutSettingsRequest{Values: map[string]string{"ladder_interval": "31s"}})
}

// hoards leaves a result by itself, without the command that would have told it that this is more than a result may be.
const hoards = `printf '{"agent":"%s","incarnation":%s,"task":1,"attempt":1,"result":"%s"}' \
"$VIGIL_AGENT" "$VIGIL_INCARNATION" "$(head -c 300000 /dev/zero | tr '\0' x)" >"$VIGIL_SPOOL/.1" &&
mv "$VIGIL_SPOOL/.1" "$VIGIL_SPOOL/1.json"; exec sleep 3600`

// An agent has left what no server takes; another one is dead in the hands of a debugger that does not let go of it;
// of a third one the terminal does not answer.
func TestAlertsOfHostsAreRaised(t *testing.T) {
	needsPrometheus(t)
	t.Parallel()
	metrics := freePort(t)
	c := newTerminalCrew(t, `name: shows
kind: tmux
program: sleep
args: ['3600']
prompts: [{kind: idle, pattern: '^>$', lines: 1}]
`, fmt.Sprintf("metrics: %s\nlook_every: 1s\nrunners:\n- {name: hoards, program: sh, user: %[2]q, args: [-c, %[3]q]}\n"+
		"- {name: sleeps, program: sleep, user: %[2]q, args: ['3600']}\n", metrics, runner.SameUser(), hoards))
	var roles []*vigilv1.RoleSpec
	for _, name := range []string{"shows", "hoards", "sleeps"} {
		roles = append(roles, &vigilv1.RoleSpec{Name: name, Runner: name, Replicas: 1,
			StopGrace: durationpb.New(300 * time.Millisecond)})
	}
	if _, err := c.fleet.ApplyRoom(c.ctx(), &vigilv1.ApplyRoomRequest{Room: "web", Roles: roles}); err != nil {
		t.Fatal(err)
	}
	pid := map[string]int{}
	for _, r := range roles {
		runs := func(g *vigilv1.Agent) bool { return g.GetPid() != 0 }
		pid[r.Name] = int(c.waits("web/"+r.Name, "its process", runs).GetPid())
	}
	// A first look always goes to the terminal, later ones only when something was printed since: agentd begins anew.
	c.terminals.signal(syscall.SIGKILL)
	c.terminals.end()
	c.stopTmux()
	c.startTerminals()
	a := newAlarms(c.testFleet, job("vigil", c.api...), job("vigil-agentd", metrics))
	a.fire("VigilDeadLetters")

	debug(t, pid["sleeps"])
	if _, err := c.fleet.SetAgent(c.ctx(), &vigilv1.SetAgentRequest{Agent: "web/sleeps", Desired: "stopped"}); err != nil {
		t.Fatal(err)
	}
	a.fire("VigilUnkillable", "VigilNobodyLooks")
	a.all()
}

// More agents than there may be escalations have urgent mail that nobody acknowledges.
func TestAlertOfTooManyEscalationsIsRaised(t *testing.T) {
	needsPrometheus(t)
	t.Parallel()
	f := newFleet(t, alone)
	a := newAlarms(f, job("vigil", f.api...))
	a.set(map[string]string{"mail_urgent_limit": "1s"})
	const perRole = 1000 // as many copies has one mail at most
	for i := range noun.MaxOpenEscalations/perRole + 1 {
		room := fmt.Sprintf("deaf%d", i)
		if _, err := f.fleet.ApplyRoom(f.ctx(), &vigilv1.ApplyRoomRequest{Room: room,
			Roles: []*vigilv1.RoleSpec{{Name: "w", Replicas: perRole}}}); err != nil {
			t.Fatal(err)
		}
		f.until("agents of "+room, func() (bool, string) {
			rm, err := f.fleet.GetRoom(f.ctx(), &vigilv1.GetRoomRequest{Room: room})
			return err == nil && rm.GetUnfinished() == 0, fmt.Sprint(rm.GetUnfinished(), " ", err)
		})
		if _, err := vigilv1.NewMailboxClient(f.client).SendMail(f.ctx(), &vigilv1.SendMailRequest{From: "ann",
			To: room, Subject: "answer", Priority: "urgent"}); err != nil {
			t.Fatal(err)
		}
	}
	a.fire("VigilEscalationsDropped")
	a.all()
}

// stopTmux has the only terminal of the host stand still.
func (c *crew) stopTmux() {
	c.t.Helper()
	data, err := os.Readlink(c.path("h2data"))
	if err != nil {
		c.t.Fatal(err)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file) // or it has ended
		args := strings.Split(string(line), "\x00")
		if len(args) > 3 && strings.HasPrefix(args[2], data+"/") && args[3] == "-D" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // digits
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				c.t.Fatal(err)
			}
			return
		}
	}
	c.t.Fatalf("no tmux has a terminal below %s", data)
}

// debug has a debugger seize a process until the end of the test. What is killed meanwhile is dead only when the
// debugger has taken note of it, which this one does not do before.
func debug(t *testing.T, pid int) {
	t.Helper()
	seized, end, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // this thread is the debugger
		defer runtime.UnlockOSThread()
		err := unix.PtraceSeize(pid)
		if seized <- err; err != nil {
			return
		}
		<-end
		_ = syscall.Kill(pid, syscall.SIGKILL) // if nobody has yet
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
	}()
	if err := <-seized; err != nil {
		t.Fatalf("trace process %d: %v", pid, err)
	}
	t.Cleanup(func() { close(end); <-ended })
}
