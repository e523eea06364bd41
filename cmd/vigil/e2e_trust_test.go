//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trustFleet is a cluster that was founded and joined by tokens.
type trustFleet struct {
	t       *testing.T
	dir     string
	servers []*proc
}

// as runs a command as whoever logged in below that folder.
func (f *trustFleet) as(person string, args ...string) (string, error) {
	cmd := exec.CommandContext(f.t.Context(), vigil(f.t), args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(f.dir, person), "VIGIL_ADDR=", "VIGIL_CONTEXT=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (f *trustFleet) must(person string, args ...string) string {
	f.t.Helper()
	out, err := f.as(person, args...)
	if err != nil {
		f.t.Fatalf("vigil %s: %v\n%s", strings.Join(args[:min(2, len(args))], " "), err, out)
	}
	return out
}

// until repeats a command until its output has what is wanted.
func (f *trustFleet) until(person, want string, args ...string) {
	f.t.Helper()
	out := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if out, _ = f.as(person, args...); strings.Contains(out, want) {
			return
		}
	}
	f.t.Fatalf("vigil %s never shows %q:\n%s", strings.Join(args, " "), want, out)
}

var tokenForm = regexp.MustCompile(`vigil1\.[A-Za-z0-9_.-]+`)

// foundFleet founds a cluster, and has two more servers join.
func foundFleet(t *testing.T) *trustFleet {
	f := &trustFleet{t: t, dir: t.TempDir()}
	if err := os.Chmod(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	place := func(id string) []string {
		return []string{"--id", id, "--data-dir", filepath.Join(f.dir, id), "--addr", freePort(t), "--raft-addr", freePort(t)}
	}
	run := func(id string) {
		f.servers = append(f.servers, spawn(t, id, "server", "--config", filepath.Join(f.dir, id, "server.yaml")))
	}
	token := tokenForm.FindString(f.must("admin", append([]string{"server", "init", "--admin", "ann", "--context-name", "prod"}, place("s1")...)...))
	run("s1")
	for _, id := range []string{"s2", "s3"} {
		f.until("admin", "s1", "server", "list")
		f.must("admin", append([]string{"server", "join", token}, place(id)...)...)
		run(id)
	}
	f.until("admin", "s3      voter", "status")
	if out, err := f.as("admin", append([]string{"server", "join", token}, place("s4")...)...); err == nil || !strings.Contains(out, "used up") {
		t.Errorf("a third server joins by a token of two uses: %v, %s", err, out)
	}
	return f
}

// A cluster is founded and joined by tokens alone. Whoever has no identity gets nothing, who has one gets what
// their role allows, and who was shut out gets nothing any more. Agents need no network of their own.
func TestTrustFromTheFirstMinute(t *testing.T) {
	t.Parallel()
	f := foundFleet(t)
	host := filepath.Join(f.dir, "h1")
	f.must("admin", "agentd", "join", tokenForm.FindString(f.must("admin", "token", "create", "--role", "host")), "--data-dir", host, "--name", "h1")
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(f.dir, "input", "a.txt"), "some words\n")
	write(filepath.Join(host, "runners.d", "w.yaml"), "name: w\nprogram: "+vigil(t)+"\nargs: [dev-agent, words, --files, "+
		filepath.Join(f.dir, "input")+"]\nuser: "+strings.TrimSpace(userName(t))+"\n")
	write(filepath.Join(f.dir, "room.yaml"), "room: web\nroles:\n  - {name: words, runner: w}\n")
	agentd := spawn(t, "agentd", "agentd", "--config", filepath.Join(host, "agentd.yaml"))
	defer func() { (&testFleet{t: t, dir: f.dir}).clear("h1", agentd) }()
	f.must("admin", "apply", "-f", filepath.Join(f.dir, "room.yaml"), "--yes")
	f.until("admin", "waiting for a task", "agent", "list")

	for person, role := range map[string][]string{"ben": {"--role", "viewer", "--room", "web"}, "cleo": {"--role", "operator", "--room", "web"}} {
		token := tokenForm.FindString(f.must("admin", append([]string{"user", "add", person}, role...)...))
		f.must(person, "login", token, "--user", person)
		if out, err := f.as("thief", "login", token, "--user", person); err == nil {
			t.Errorf("the token of %s is used twice: %s", person, out)
		}
		f.must(person, "agent", "list", "--room", "web")
		if out, err := f.as(person, "server", "remove", "s3"); err == nil || !strings.Contains(out, "may not remove servers") {
			t.Errorf("%s removes a server: %v, %s", person, err, out)
		}
	}
	leaf := filepath.Join(f.dir, "ben", "vigil", "identity", "vigil", "leaf.key")
	before, err := os.ReadFile(leaf)
	if err == nil {
		err = os.Chtimes(leaf, time.Time{}, time.Now().Add(-7*time.Hour))
	}
	if err != nil {
		t.Fatal(err)
	}
	f.must("ben", "agent", "list", "--room", "web") // renews first
	if after, err := os.ReadFile(leaf); err != nil || string(after) == string(before) {
		t.Errorf("a certificate of 7 h is not renewed: %v", err)
	}
	if out, err := f.as("ben", "agent", "restart", "web/words"); err == nil || !strings.Contains(out, "needs operator") {
		t.Errorf("a viewer restarts an agent: %v, %s", err, out)
	}
	if out := f.must("admin", "tls", "show"); strings.Count(out, "renews") < 6 ||
		strings.Contains(out, "another certificate") || !strings.Contains(out, "signs new issuers") {
		t.Errorf("three servers, a host and people have certificates: %s", out)
	}
	f.must("cleo", "agent", "restart", "web/words")
	f.until("cleo", "     2  h1", "agent", "list", "--room", "web")
	f.must("admin", "user", "remove", "cleo")
	if out, err := f.as("cleo", "agent", "list", "--room", "web"); err == nil {
		t.Errorf("somebody who was removed sees agents: %s", out)
	}

	f.servers[0].signal(syscall.SIGKILL) // the others have keys of their own, and the context knows them
	f.servers[0].end()
	f.until("admin", "waiting for a task", "agent", "list")
	f.until("admin", "vigil1.", "token", "create", "--role", "host")
}

func userName(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Skipf("needs id: %v", err)
	}
	return string(out)
}
