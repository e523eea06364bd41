//go:build linux

package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
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
	api     string   // address of s1
	apis    []string // of all that there were to be
	said    []said   // by commands, in their order
}

// said is what a command has printed.
type said struct {
	args []string
	out  string
}

// as runs a command as whoever logged in below that folder.
func (f *trustFleet) as(person string, args ...string) (string, error) {
	cmd := exec.CommandContext(f.t.Context(), vigil(f.t), args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(f.dir, person), "VIGIL_ADDR=", "VIGIL_CONTEXT=")
	out, err := cmd.CombinedOutput()
	f.said = append(f.said, said{args, string(out)})
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
	for end, rest := time.Now().Add(patience), rests(); time.Now().Before(end); rest() {
		if out, _ = f.as(person, args...); strings.Contains(out, want) {
			return
		}
	}
	f.t.Fatalf("vigil %s never shows %q:\n%s", strings.Join(args, " "), want, out)
}

// untilFile waits for a file.
func (f *trustFleet) untilFile(path string) {
	f.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	f.t.Fatalf("there never is %s", path)
}

var tokenForm = regexp.MustCompile(`vigil1\.[A-Za-z0-9_.-]+`)

// foundFleet founds a cluster, and has two more servers join; more are lines of their configurations.
func foundFleet(t *testing.T, more ...string) *trustFleet {
	f := &trustFleet{t: t, dir: t.TempDir()}
	if err := os.Chmod(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	place := func(id string) []string {
		addr := freePort(t)
		if f.apis = append(f.apis, addr); id == "s1" {
			f.api = addr
		}
		return []string{"--id", id, "--data-dir", filepath.Join(f.dir, id), "--addr", addr, "--raft-addr", freePort(t)}
	}
	run := func(id string) {
		file, err := os.OpenFile(filepath.Join(f.dir, id, "server.yaml"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString(strings.Join(append(more, ""), "\n"))
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		f.servers = append(f.servers, spawn(t, id, "server", "--config", filepath.Join(f.dir, id, "server.yaml")))
	}
	token := tokenForm.FindString(f.must("admin",
		append([]string{"server", "init", "--admin", "ann", "--context-name", "prod"}, place("s1")...)...))
	run("s1")
	for _, id := range []string{"s2", "s3"} {
		f.until("admin", "s1", "server", "list")
		f.must("admin", append([]string{"server", "join", token}, place(id)...)...)
		run(id)
	}
	f.until("admin", "s3      voter", "status")
	if out, err := f.as("admin", append([]string{"server", "join", token}, place("s4")...)...); err == nil ||
		!strings.Contains(out, "used up") {
		t.Errorf("a third server joins by a token of two uses: %v, %s", err, out)
	}
	return f
}

// A cluster is founded and joined by tokens alone. Whoever has no identity gets nothing, who has one gets what
// their role allows, and who was shut out gets nothing any more. Agents need no network of their own.
func TestTrustFromTheFirstMinute(t *testing.T) {
	t.Parallel()
	f := foundFleet(t)
	agentd := f.work()
	defer func() { (&testFleet{t: t, dir: f.dir}).clear("h1", agentd) }()
	f.until("admin", " (h1) ", "identity", "list")

	for person, role := range map[string][]string{"ben": {"--role", "viewer", "--room", "web"},
		"cleo": {"--role", "operator", "--room", "web"}} {
		token := tokenForm.FindString(f.must("admin", append([]string{"user", "add", person}, role...)...))
		f.must(person, "login", token, "--user", person)
		if out, err := f.as("thief", "login", token, "--user", person); err == nil {
			t.Errorf("the token of %s is used twice: %s", person, out)
		}
		f.must(person, "agent", "list", "--room", "web")
		if out, err := f.as(person, "server", "remove", "s3"); err == nil ||
			!strings.Contains(out, "may not remove servers") {
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

	f.programs()

	f.untilFile(filepath.Join(f.dir, "s2", "trust", "issuer.key"))
	f.untilFile(filepath.Join(f.dir, "s3", "trust", "issuer.key"))
	f.newRoot()
	f.servers[0].signal(syscall.SIGKILL) // the others have keys of their own, and the context knows them
	f.servers[0].end()
	f.until("admin", "waiting for a task", "agent", "list")
	f.until("admin", "vigil1.", "token", "create", "--role", "host")
	f.lockedOut()
}

// work has the host h1 join and run an agent, web/words; the caller clears the host.
func (f *trustFleet) work() (agentd *proc) {
	f.t.Helper()
	host := filepath.Join(f.dir, "h1")
	f.must("admin", "agentd", "join", tokenForm.FindString(f.must("admin", "token", "create", "--role", "host")),
		"--data-dir", host, "--name", "h1")
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			f.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	write(filepath.Join(f.dir, "input", "a.txt"), "some words\n")
	write(filepath.Join(host, "runners.d", "w.yaml"),
		"name: w\nprogram: "+vigil(f.t)+"\nargs: [dev-agent, words, --files, "+
			filepath.Join(f.dir, "input")+"]\nuser: "+strings.TrimSpace(userName(f.t))+"\n")
	write(filepath.Join(f.dir, "room.yaml"), "room: web\nroles:\n  - {name: words, runner: w}\n")
	agentd = spawn(f.t, "agentd", "agentd", "--config", filepath.Join(host, "agentd.yaml"))
	f.must("admin", "apply", "-f", filepath.Join(f.dir, "room.yaml"), "--yes")
	f.until("admin", "waiting for a task", "agent", "list")
	return agentd
}

// newRoot replaces the root, while everybody works.
func (f *trustFleet) newRoot() {
	f.t.Helper()
	data := filepath.Join(f.dir, "s1")
	before, err := os.ReadFile(filepath.Join(data, "trust", "root.key"))
	if err != nil {
		f.t.Fatal(err)
	}
	if out, err := f.as("admin", "root", "rotate", "--data-dir", filepath.Join(f.dir, "s2")); err == nil ||
		!strings.Contains(out, "no key of the root") {
		f.t.Errorf("a root is replaced where its key is not: %v, %s", err, out)
	}
	if out := f.must("admin", "root", "rotate", "--data-dir", data); !strings.Contains(out, "host/h1") ||
		!strings.Contains(out, "the old one goes") {
		f.t.Errorf("what is waited for: %s", out)
	}
	if after, err := os.ReadFile(filepath.Join(data, "trust", "root.key")); err != nil || string(after) == string(before) {
		f.t.Errorf("the old key is there still: %v", err)
	}
	// For people it waits some hours, and for the host if that has renewed its certificate just before.
	servers := regexp.MustCompile(`"server/s[123]"`)
	for end, rest := time.Now().Add(patience), rests(); servers.MatchString(
		f.must("admin", "root", "status", "--json")); rest() {
		if time.Now().After(end) {
			f.t.Fatalf("servers get no certificate of the new root: %s", f.must("admin", "root", "status"))
		}
	}
	if out := f.must("admin", "escalation", "list"); strings.Contains(out, "identity_cloned") {
		f.t.Errorf("who renews twice is taken for a copy of itself: %s", out)
	}
	f.until("admin", "waiting for a task", "agent", "list")
}

// programs calls with an API token, which holds in its room and until it is revoked.
func (f *trustFleet) programs() {
	f.t.Helper()
	bearer := regexp.MustCompile(`vigil-api\.\S+`).FindString(
		f.must("admin", "token", "create", "--role", "viewer", "--room", "web", "--name", "ci"))
	ask := func(path string) string {
		roots := filepath.Join(f.dir, "admin", "vigil", "identity", "prod", "roots.crt")
		pem, err := os.ReadFile(roots)
		if err != nil {
			f.t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		plain := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
		defer plain.CloseIdleConnections()
		r, err := http.NewRequest(http.MethodGet, "https://"+f.api+path, nil)
		if err != nil {
			f.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
		answer, err := plain.Do(r)
		if err != nil {
			f.t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }() // it was read
		out, err := io.ReadAll(answer.Body)
		if err != nil {
			f.t.Fatal(err)
		}
		return string(out)
	}
	if out := ask("/v1/rooms/web"); !strings.Contains(out, `"words"`) {
		f.t.Errorf("with an API token: %s", out)
	}
	if out := ask("/v1/rooms"); !strings.Contains(out, "denied") {
		f.t.Errorf("an API token of one room lists all: %s", out)
	}
	if out := f.must("admin", "token", "list"); !strings.Contains(out, "viewer in web") {
		f.t.Errorf("the token is not listed: %s", out)
	}
	f.must("admin", "token", "revoke", "api-1")
	if out := ask("/v1/rooms/web"); !strings.Contains(out, "auth_denied") {
		f.t.Errorf("with an API token that was revoked: %s", out)
	}
}

// lockedOut lets somebody in when no admin is left.
func (f *trustFleet) lockedOut() {
	f.t.Helper()
	f.must("admin", "user", "add", "dora", "--role", "viewer")
	f.must("admin", "user", "remove", "ann")
	if out, err := f.as("admin", "user", "list"); err == nil {
		f.t.Fatalf("an admin who was removed lists users: %s", out)
	}
	path := filepath.Join(f.dir, "s2", "admin.sock")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		f.t.Fatalf("the socket of the owner: %v, %v", info, err)
	}
	token := tokenForm.FindString(f.must("owner", "--addr", "unix:"+path, "user", "add", "eva", "--role", "admin"))
	f.must("eva", "login", token, "--user", "eva")
	if out := f.must("eva", "user", "list"); !strings.Contains(out, "root/s2") {
		f.t.Errorf("it does not say who added the user: %s", out)
	}
}

func userName(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Skipf("needs id: %v", err)
	}
	return string(out)
}
