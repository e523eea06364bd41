package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// Every mistake of a server's configuration has a line of its own, and two voters are warned of.
func TestN09ServerCheckTellsEveryMistake(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile("server.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("addr: 10.0.0.1\nlog_level: loud\nbootstrap_expect: 12\njoin: [nowhere]\n")
	code, out, _ := terminalRun{}.do(t, "server", "--config", "server.yaml", "--check")
	for _, want := range []string{"no id", `addr "10.0.0.1"`, `log_level "loud"`, "bootstrap_expect is 12",
		`join: address "nowhere"`} {
		if strings.Count(out, want) != 1 {
			t.Errorf("it tells %d times of %q:\n%s", strings.Count(out, want), want, out)
		}
	}
	if lines := strings.Count(out, "\n"); code != cli.ExitFailed || lines < 5 {
		t.Errorf("exit code %d, %d lines", code, lines)
	}
	write("id: a\npeers:\n  - {id: a, raft_addr: '127.0.0.1:7421', api_addr: '127.0.0.1:7420'}\n" +
		"  - {id: b, raft_addr: '127.0.0.1:7423', api_addr: '127.0.0.1:7422'}\n")
	code, out, _ = terminalRun{}.do(t, "server", "--config", "server.yaml", "--check")
	if code != 0 || !strings.Contains(out, "note: a cluster of two servers stands still") ||
		strings.Contains(out, "right") {
		t.Errorf("two voters: exit code %d, %q", code, out)
	}
}

// The key's folder need not be there.
func TestN09KeygenMakesItsFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etc", "vigil", "gossip.key")
	if code, _, errs := (terminalRun{}).do(t, "keygen", file); code != 0 {
		t.Fatal(errs)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
}

// A room that a file declares twice is refused with both places: one would silently win.
func TestN09RoomDeclaredTwice(t *testing.T) {
	text := "room: web\nroles: [{name: a}]\n---\nroom: api\n---\nroom: web\nroles: [{name: b}]\n"
	file := filepath.Join(t.TempDir(), "rooms.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := terminalRun{}.do(t, "apply", "-f", file)
	if code != cli.ExitUsage ||
		!strings.Contains(errs, `rooms.yaml:6:7: room "web" is declared twice: it stands in line 1 too`) {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// What was not set cannot be released, and is not said to have been.
func TestN18BrakeThatIsNotSet(t *testing.T) {
	s := newCanned(t)
	s.status = &vigilv1.StatusResponse{}
	code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr}}.do(t, "brake", "release")
	if code != 0 || !strings.Contains(out, "the brake is not set") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}
