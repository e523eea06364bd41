package dev

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/trust"
)

// withContexts is an account of its own.
func withContexts(t *testing.T) *cli.App {
	t.Helper()
	home := t.TempDir()
	return &cli.App{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
}

// held is the folder of a demo that runs.
func held(t *testing.T) (dir string, end func()) {
	t.Helper()
	dir = t.TempDir()
	lock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return dir, func() { lock.Close() }
}

func selected(t *testing.T, a *cli.App) string {
	t.Helper()
	all, err := a.Contexts()
	if err != nil {
		t.Fatal(err)
	}
	return all.Selected
}

func mustAnnounce(t *testing.T, a *cli.App, dir, want string) {
	t.Helper()
	name, err := announce(a, dir, trust.Dir(filepath.Join(dir, "identity")), []string{"127.0.0.1:7420"})
	if err != nil || name != want || selected(t, a) != want || a.DemoFolder() != dir {
		t.Fatalf("announced as %q (%v), want %q; selected is %q of %q", name, err, want, selected(t, a), a.DemoFolder())
	}
}

// A demo is the selected context while it runs, and leaves what was selected before it.
func TestN05DevContextComesAndGoes(t *testing.T) {
	a := withContexts(t)
	err := a.ChangeContexts(func(all *cli.Contexts) error {
		all.Contexts["prod"], all.Selected = cli.Context{Servers: []string{"10.0.0.1:7420"}}, "prod"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(a.ContextsFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of contexts: %v, %v", info.Mode(), err)
	}
	first, killFirst := held(t)
	mustAnnounce(t, a, first, "dev")
	second, _ := held(t)
	mustAnnounce(t, a, second, "dev-2")

	// The first is killed: nothing takes its context away but the next demo, and what was selected
	// before it is not forgotten.
	killFirst()
	third, _ := held(t)
	mustAnnounce(t, a, third, "dev")
	for _, end := range [][3]string{{"dev", third, "dev-2"}, {"dev-2", second, "prod"}} {
		if err := withdraw(a, end[0], end[1]); err != nil || selected(t, a) != end[2] {
			t.Fatalf("after the end of %s %q is selected (%v), want %q", end[0], selected(t, a), err, end[2])
		}
	}
	if names := a.ContextNames(); !slices.Equal(names, []string{"prod"}) {
		t.Errorf("what is left: %v", names)
	}
}

// What somebody selects or names while the demo runs is left alone.
func TestN05DevContextLeavesOthers(t *testing.T) {
	a := withContexts(t)
	dir, _ := held(t)
	mustAnnounce(t, a, dir, "dev")
	err := a.ChangeContexts(func(all *cli.Contexts) error {
		all.Contexts["dev"], all.Selected = cli.Context{Servers: []string{"10.0.0.9:7420"}}, "dev"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := withdraw(a, "dev", dir); err != nil || selected(t, a) != "dev" {
		t.Errorf("somebody's own context dev was taken away (%v)", err)
	}
	other, _ := held(t)
	mustAnnounce(t, a, other, "dev-2")
}

// The usual ports are used when all of them are free, others when nobody insists.
func TestN05DevUsesTheUsualPorts(t *testing.T) {
	first := 0
	for first = 17_420; ; first += 10 {
		if _, err := portsFrom(first); err == nil {
			break
		}
	}
	p := &devPlace{dir: t.TempDir()}
	if err := p.findServers(first, false); err != nil {
		t.Fatal(err)
	}
	for i, s := range p.servers {
		api, raft := fmt.Sprintf("127.0.0.1:%d", first+2*i), fmt.Sprintf("127.0.0.1:%d", first+2*i+1)
		if s.APIAddr != api || s.RaftAddr != raft {
			t.Errorf("server %s is at %s and %s, want %s and %s", s.ID, s.APIAddr, s.RaftAddr, api, raft)
		}
	}
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+3))
	if err != nil {
		t.Skip("somebody was faster: ", err)
	}
	defer taken.Close()
	p = &devPlace{dir: t.TempDir()}
	if err := p.findServers(first, false); err != nil || len(p.servers) != devServers {
		t.Errorf("with one port taken: %v, %v", p.servers, err)
	}
	p = &devPlace{dir: t.TempDir()}
	if err := p.findServers(first, true); cli.ExitCode(err) != cli.ExitUsage ||
		!strings.Contains(err.Error(), "--port") {
		t.Errorf("a port that was asked for is taken: %v", err)
	}
}

// What runs in a demo does not depend on the file that it was started from.
func TestN05DevKeepsItsProgram(t *testing.T) {
	p := &devPlace{dir: t.TempDir()}
	for range 2 { // also in the folder of an earlier demo
		program, err := p.keepProgram()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(program)
		if err != nil || info.Mode().Perm()&0o100 == 0 || filepath.Dir(filepath.Dir(program)) != p.dir {
			t.Errorf("program %s: %v, %v", program, info, err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		original, err := os.Stat(self)
		if err != nil || original.Size() != info.Size() || os.SameFile(original, info) {
			t.Errorf("the program was not copied: %v", err)
		}
	}
}

// Where there are no hosts the remedy is said at once.
func TestN20DevNeedsLinux(t *testing.T) {
	if err := checkSystem("linux"); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	err := checkSystem("darwin")
	cli.Report(&text, err, false)
	if cli.ExitCode(err) != cli.ExitFailed {
		t.Errorf("exit code %d", cli.ExitCode(err))
	}
	for _, want := range []string{"Linux machine", "VM", "container", "\n  docker run"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q lacks %q", text.String(), want)
		}
	}
}
