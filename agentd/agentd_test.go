package agentd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
)

func TestStreamAnswersPingsAndComesBack(t *testing.T) {
	r := newRig(t, time.Minute, false)
	if r.stream.hello.GetHost() != 7 || r.stream.hello.GetBoot() != "boot-1" {
		t.Errorf("hello %v", r.stream.hello)
	}
	r.stream.ping(t, 41)
	if n := next(t, r.stream.heard).GetPong().GetN(); n != 41 {
		t.Errorf("pong %d", n)
	}
	r.stream.end <- errors.New("server goes down")
	r.stream = next(t, r.streams)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	next(t, r.agents).expect(t, "up")
}

func TestSilentStreamIsReplaced(t *testing.T) {
	f := newFake(t, time.Minute)
	a, err := Open(Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
		Shim: shimCommand()})
	if err != nil {
		t.Fatal(err)
	}
	a.silence = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	next(t, f.streams)
	next(t, f.streams)
	cancel()
	if err := next(t, done); err != nil {
		t.Error(err)
	}
}

func TestSecondDaemonOnOneDirectoryIsRefused(t *testing.T) {
	r := newRig(t, time.Minute, false)
	_, err := Open(Config{DataDir: r.dir, Conn: r.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
		Shim: shimCommand()})
	if !errors.Is(err, disk.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("error %v", err)
	}
}

func TestHostKeyIsStableAndPrivate(t *testing.T) {
	f, dir := newFake(t, time.Minute), t.TempDir()
	keys := map[string]bool{}
	for range 2 {
		a, err := Open(Config{DataDir: dir, Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
			Shim: shimCommand()})
		if err != nil {
			t.Fatal(err)
		}
		keys[a.Key()] = true
		a.Close()
	}
	info, err := os.Stat(filepath.Join(dir, disk.KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 || len(keys) != 1 {
		t.Errorf("keys %v, file %v, %v", keys, info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, disk.KeyFile), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{DataDir: dir, Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
		Shim: shimCommand()}); err == nil ||
		!strings.Contains(err.Error(), "32 hexadecimal digits") {
		t.Errorf("error %v", err)
	}
}

// A machine that has lost its directory goes on as the host that it was; a directory
// that has an id keeps it.
func TestHostKeyIsTakenOverOnce(t *testing.T) {
	f := newFake(t, time.Minute)
	lost, other := strings.Repeat("0a", 16), strings.Repeat("0b", 16)
	dir, copies := t.TempDir(), t.TempDir()
	for _, step := range []struct{ dir, key, want string }{
		{dir, lost, ""},
		{dir, lost, ""},
		{dir, "", ""},
		{dir, other, "belongs to another host"},
		{filepath.Join(dir, "never"), "h1", "32 hexadecimal digits"},
	} {
		file := ""
		if step.key != "" {
			file = filepath.Join(copies, "host_key")
			if err := os.WriteFile(file, []byte(step.key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a, err := Open(Config{DataDir: step.dir, HostKeyFile: file, Conn: f.conn, Addrs: []string{"x"},
			Seams: Seams{Boot: "b"}, Shim: shimCommand()})
		switch {
		case err != nil && (step.want == "" || !strings.Contains(err.Error(), step.want)):
			t.Errorf("key %q: error %v", step.key, err)
		case err == nil && (step.want != "" || a.Key() != lost):
			t.Errorf("key %q: the host is %s", step.key, a.Key())
		}
		if err == nil {
			a.Close()
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "never")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was made for a wrong id: %v", err)
	}
}

func TestMissingProgramIsRefusedAtOpen(t *testing.T) {
	f := newFake(t, time.Minute)
	_, err := Open(Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
		Shim:  shimCommand(),
		Offer: Offer{Runners: []runner.Runner{{Name: "a", Program: "/no/such/program", User: runner.SameUser()}}}})
	var faults runner.Faults
	if !errors.As(err, &faults) || faults[0].Place() != "runners[0].program" {
		t.Errorf("error %v", err)
	}
}

// What a killed daemon left behind is gone before the host says what runs there.
func TestStrayOfAnEarlierDaemonIsKilledFirst(t *testing.T) {
	f := newFake(t, time.Minute)
	r := &rig{fake: f, dir: t.TempDir(), agents: make(chan *agentTalk, 10), log: &lockedBuffer{}}
	socket := r.listen(t)
	config := Config{DataDir: r.dir, Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"}, Shim: shimCommand()}
	a, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	mark := a.mark()
	a.Close()
	stray := startStray(t, socket, proc.EnvMark+"="+mark+":1:1")
	other := startStray(t, socket, proc.EnvMark+"="+proc.HostMark(a.Key())+"-1.2:1:1")
	first, second := next(t, r.agents), next(t, r.agents)
	if first.expect(t, "up") != stray {
		first, second = second, first
	}
	r.run(t, config)
	next(t, f.registers)
	first.gone(t)
	if s := state(other); s == 0 || s == 'Z' {
		t.Error("a process of a copy of this host was killed")
	}
	second.conn.Close()
}
