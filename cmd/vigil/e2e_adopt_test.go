//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A cluster that was tried out in clear gets identities, and loses nothing: its room, its task and the life
// of its agent go on. What does not fit is refused, and changes nothing.
func TestTrustAdoptsWhatRanInClear(t *testing.T) {
	t.Parallel()
	f := &trustFleet{t: t, dir: t.TempDir(), api: freePort(t)}
	if err := os.Chmod(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		name = filepath.Join(f.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	server, host := filepath.Join(f.dir, "s1"), filepath.Join(f.dir, "h1")
	clearConf := write("clear.yaml", fmt.Sprintf("id: s1\ninsecure: true\ndata_dir: %q\naddr: %q\n"+
		"raft_addr: %q\nfound: true\n"+
		"settings: {ttl: 6s, stop_grace: 1s}\n", server, f.api, freePort(t)))
	s1 := spawn(t, "s1", "server", "--config", clearConf)
	anyone := func(args ...string) []string { return append([]string{"--addr", f.api}, args...) }
	f.until("anyone", "s1", anyone("server", "list")...)
	write("input/a.txt", "some words\n")
	runners := "runners:\n- {name: w, program: " + vigil(t) + ", args: [dev-agent, words, --files, " +
		filepath.Join(f.dir, "input") +
		"], user: " + strings.TrimSpace(userName(t)) + "}\n"
	h1 := spawn(t, "h1", "agentd", "--config", write("h1.yaml", fmt.Sprintf(
		"servers: [%q]\ninsecure: true\ndata_dir: %q\nname: h1\n%s", f.api, host, runners)))
	defer func() { (&testFleet{t: t, dir: f.dir}).clear("h1", h1) }()
	f.must("anyone", anyone("apply", "-f", write("room.yaml", "room: web\n"+
		"roles: [{name: words, runner: w, ttl: 6s, stop_grace: 1s}, {name: later}]\n"), "--yes")...)
	f.until("anyone", "waiting for a task", anyone("agent", "list")...)
	f.must("anyone", anyone("task", "create", "web/later", "made in clear")...)

	place := []string{"--data-dir", server, "--addr", f.api, "--raft-addr", freePort(t), "--admin", "ann",
		"--context-name", "prod"}
	adopt := func(args ...string) []string { return append(append([]string{"server", "init"}, place...), args...) }
	refused := func(words string, args ...string) {
		t.Helper()
		if out, err := f.as("admin", args...); err == nil || !strings.Contains(out, words) {
			t.Errorf("vigil %s: %v, %s", strings.Join(args, " "), err, out)
		}
	}
	refused("in use", adopt("--adopt", "--id", "s1")...)
	s1.signal(syscall.SIGTERM)
	s1.end()
	refused("--adopt", adopt("--id", "s1")...)
	refused("give --id s1", adopt("--adopt", "--id", "s7")...)
	refused("insecure: true", "server", "init", "--adopt", "--config", clearConf)
	refused("no data of a server", "server", "init", "--adopt", "--id", "s1", "--data-dir", filepath.Join(f.dir, "empty"))
	if _, err := os.Stat(filepath.Join(server, "trust")); err == nil {
		t.Error("an attempt that was refused has made an identity")
	}

	f.must("admin", adopt("--adopt", "--id", "s1")...)
	refused("holds an identity", adopt("--adopt", "--id", "s1")...)
	spawn(t, "s1", "server", "--config", filepath.Join(server, "server.yaml"))
	f.until("admin", "made in clear", "task", "list", "--room", "web")
	h1.signal(syscall.SIGTERM)
	h1.end()
	f.must("admin", "agentd", "join", tokenForm.FindString(f.must("admin", "token", "create", "--role", "host")),
		"--data-dir", host, "--name", "h1")
	write("h1/runners.d/w.yaml", strings.TrimPrefix(strings.NewReplacer("- {", "{").Replace(runners), "runners:\n"))
	h1 = spawn(t, "h1", "agentd", "--config", filepath.Join(host, "agentd.yaml"))
	f.until("admin", " (h1) ", "identity", "list")
	f.must("admin", "task", "create", "web/words", "count", "--text", "a.txt")
	f.until("admin", "COMPLETED", "task", "list", "--room", "web", "--all")
	if out := f.must("admin", "agent", "list", "--room", "web"); !strings.Contains(out, "     1  h1") {
		t.Errorf("L10: the life did not go on: %s", out)
	}
}
