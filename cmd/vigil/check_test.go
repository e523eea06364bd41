package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	write("addr: 10.0.0.1\nraft_addr: x\nlog_level: loud\njoin: [nowhere]\n")
	code, out, _ := terminalRun{}.do(t, "server", "--config", "server.yaml", "--check")
	for _, want := range []string{"no id:", `addr "10.0.0.1"`, `log_level "loud"`, `raft_addr "x": give host:port`,
		`join: address "nowhere"`} {
		if strings.Count(out, want) != 1 {
			t.Errorf("it tells %d times of %q:\n%s", strings.Count(out, want), want, out)
		}
	}
	if strings.Contains(out, "other machines") {
		t.Errorf("what is no address is said to be reached by others:\n%s", out)
	}
	if lines := strings.Count(out, "\n"); code != cli.ExitFailed || lines < 4 {
		t.Errorf("exit code %d, %d lines", code, lines)
	}
	write("id: a\naddr: 127.0.0.1:74200\n")
	if _, out, _ = (terminalRun{}).do(t, "server", "--config", "server.yaml", "--check"); !strings.Contains(out,
		`addr "127.0.0.1:74200": give host:port`) {
		t.Errorf("a port beyond 65535: %q", out)
	}
}

// A history in which nothing is found is not silence: the name may be mistyped.
func TestN18NoEventsAreSaid(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	env := map[string]string{"VIGIL_ADDR": f.addr}
	code, out, errs := terminalRun{env: env}.do(t, "events", "--room", "nowhere")
	if code != 0 || out != "" || errs != "There are no such events.\n" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	if code, out, errs = (terminalRun{env: env}).do(t, "events"); code != 0 || out == "" || errs != "" {
		t.Errorf("all events: exit code %d, %q, %q", code, out, errs)
	}
}

// A mistake is told once, whoever stumbles over it.
func TestN18AddressOfAgentdIsToldOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("agentd.yaml", []byte("servers: [127.0.0.1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errs := terminalRun{}.do(t, "agentd", "--insecure", "--config", "agentd.yaml", "--check")
	if strings.Count(out, `address "127.0.0.1"`) != 1 || !strings.Contains(errs, "findings: 1;") {
		t.Errorf("%q, %q", out, errs)
	}
}

// The key's folder need not be there.
func TestN09KeygenMakesItsFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etc", "vigil", "gossip.key")
	if code, _, errs := (terminalRun{}).do(t, "keygen", file); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := (terminalRun{}).do(t, "keygen", file); code != cli.ExitFailed ||
		!strings.Contains(errs, "there is a file "+file+" already, which is left as it is: give another name") {
		t.Errorf("again: exit code %d, %q", code, errs)
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

// A file that cannot be decoded has every mistake told too, each with its place, and what could be
// read of it is looked at.
func TestN09CheckOfBrokenFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name, args, text string
		want             []string
	}{
		{"keys and values", "server --config f.yaml", "id: a\nadress: x\naddr: 10.0.0.1\ngossip:\n  bindd: x\n" +
			"settings:\n  lease_ttl_of_all: 3s\n  ttl: soon\nwatchdog: {nonsense: 1}\nlog_json: maybe\n",
			[]string{`f.yaml:2:1: unknown key "adress"`, `f.yaml:5:3: unknown key "bindd"`, "f.yaml:7:21: ",
				"f.yaml:8:8: ", `f.yaml:9:22: unknown key "nonsense" below watchdog`,
				"f.yaml:10:11: want true or false", `addr "10.0.0.1"`}},
		{"no number", "server --config f.yaml", "id: a\nlimits: {beats: one}\njoin: a\n",
			[]string{"f.yaml:2:17: \"one\" is not a whole number", "f.yaml:3:7: want a list: [a]"}},
		{"no servers", "agentd --config f.yaml", "servers: []\nrunners_dir: none.d\n",
			[]string{"servers is empty: name at least one", "read runners: there is no none.d: correct runners_dir"}},
		{"no YAML", "server --config f.yaml", "id: a\n\tname: x\nadress: x\nlog_json: maybe\n",
			[]string{"f.yaml:2:", `f.yaml:3:1: unknown key "adress"`, "f.yaml:4:11: "}},
		{"an open bracket", "server --config f.yaml", "id: a\njoin: [x\nadress: x\n",
			[]string{"f.yaml:"}},
		{"a host", "agentd --config f.yaml", "servers: [\"127.0.0.1:1\"]\nnam: x\nstop_grace: soon\nrunners:\n" +
			"  - {name: a, progam: sh}\n  - {name: b, program: /no/such, pty: 3x}\n",
			[]string{`f.yaml:2:1: unknown key "nam"`, "f.yaml:3:13: ", `f.yaml:5:15: unknown key "progam"`,
				"f.yaml:6:39: want true or false", "f.yaml:6:24: /no/such does not exist"}},
	} {
		if err := os.WriteFile("f.yaml", []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, _ := terminalRun{}.do(t, append(strings.Fields(tt.args), "--check")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for _, want := range tt.want {
			found := 0
			for _, line := range lines {
				if strings.HasPrefix(line, want) {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%s: %d lines begin with %q:\n%s", tt.name, found, want, out)
			}
		}
		if code != cli.ExitFailed {
			t.Errorf("%s: exit code %d", tt.name, code)
		}
	}
}
