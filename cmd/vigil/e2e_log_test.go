//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// unread is a pipe for the log of a program, of which only the test decides when it is read.
type unread struct {
	t    *testing.T
	path string
	pipe *os.File
}

func newUnread(t *testing.T, path string) *unread {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0) // who opens it alone waits for the other end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	return &unread{t, path, pipe}
}

// spawn starts the program with its log in the pipe.
func (u *unread) spawn(name string, args ...string) *proc {
	u.t.Helper()
	p, err := run(u.t, name, exec.Command("sh", append([]string{"-c", `exec 2>"$0"; exec "$@"`, u.path, vigil(u.t)},
		args...)...))
	if err != nil {
		u.t.Fatal(err)
	}
	return p
}

// fill writes until nothing more fits.
func (u *unread) fill() {
	u.t.Helper()
	raw, err := u.pipe.SyscallConn()
	if err != nil {
		u.t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { // single bytes at last, so that not one more fits
		for _, chunk := range []string{strings.Repeat("\n", 4096), "\n"} {
			for err = nil; err == nil; {
				_, err = syscall.Write(int(fd), []byte(chunk))
			}
		}
	})
	if err != syscall.EAGAIN {
		u.t.Fatalf("fill the pipe: %v", err)
	}
}

// shows reads until the log has all of these.
func (u *unread) shows(want ...string) {
	u.t.Helper()
	_ = u.pipe.SetReadDeadline(time.Now().Add(patience))
	text, buf := "", make([]byte, 64<<10)
	for {
		lacks := ""
		for _, w := range want {
			if !strings.Contains(text, w) {
				lacks = w
			}
		}
		if lacks == "" {
			return
		}
		n, err := u.pipe.Read(buf)
		if err != nil {
			u.t.Fatalf("the log lacks %q: %v\n%s", lacks, err, text)
		}
		text += string(buf[:n])
	}
}

// Whoever stops reading the log of agentd or of a server, as Ctrl-S in their terminal does, stops nothing but that: an
// agent is not frozen, another one starts and ends, and the log is there when it is read again. A fatal end is not held
// up either.
func TestL10BlockedLogFreezesNobody(t *testing.T) {
	t.Parallel()
	vigil(t)
	f := newFleet(t, alone)
	host := newUnread(t, f.path("host.log"))
	f.write("h2.yaml", "servers: ["+f.api[0]+"]\ninsecure: true\ndata_dir: "+f.path("h2")+"\nname: h2\non_stop: end\n"+
		"runners:\n- name: ticks\n  program: sh\n  args: [-c, 'while sleep 0.1; do echo tick; done']\n  "+
		owned("")+"- name: ends\n  program: sh\n  args: [-c, 'echo over']\n  "+owned(""))
	agentd := host.spawn("h2", "agentd", "--config", f.path("h2.yaml"))
	t.Cleanup(func() { f.clear("h2", agentd) })
	const ttl = 4 * time.Second
	apply := func(roles ...string) {
		req := &vigilv1.ApplyRoomRequest{Room: "demo", By: "test"}
		for _, r := range roles {
			req.Roles = append(req.Roles, &vigilv1.RoleSpec{Name: r, Runner: r, Replicas: 1, Ttl: durationpb.New(ttl),
				StopGrace: durationpb.New(ttl / 8)})
		}
		if _, err := f.fleet.ApplyRoom(f.ctx(), req); err != nil {
			t.Fatal(err)
		}
	}
	event := func(kind, agent string) {
		t.Helper()
		f.await(kind+" of "+agent, func(e *vigilv1.Event) bool { return e.GetKind() == kind && e.GetAgent() == agent })
	}
	apply("ticks")
	event("agent.started", "demo/ticks")
	host.shows("agent started")
	life := f.agent("demo/ticks").GetIncarnation()

	host.fill()
	apply("ticks", "ends")
	event("agent.started", "demo/ends")
	event("agent.exited", "demo/ends")
	printed := func() string {
		b, _ := os.ReadFile(f.path("h2/logs/demo/ticks.log")) // or it is not there yet
		return string(b)
	}
	begin := strings.Count(printed(), "tick\n")
	for end := time.Now().Add(patience); strings.Count(printed(), "tick\n") < begin+int(2*ttl/(100*time.Millisecond)); {
		if time.Now().After(end) {
			t.Fatalf("the agent does not go on:\n%s", printed())
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := f.agent("demo/ticks").GetIncarnation(); got != life || strings.Contains(printed(), "frozen") {
		t.Errorf("the agent is in life %s, it was in %s:\n%s", got, life, printed())
	}
	host.shows("agent ended")

	// The address is taken. The reason is lost with a log that nobody reads, the end is not.
	server := newUnread(t, f.path("server.log"))
	server.fill()
	s9 := server.spawn("s9", "server", "--insecure", "--found", "--id", "s9", "--data-dir", f.path("s9"),
		"--addr", f.api[0], "--raft-addr", freePort(t))
	if code := s9.end(); code != 1 {
		t.Errorf("the server ended with %d", code)
	}
}
