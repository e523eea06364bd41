//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/agentd/runner"
)

// oneServer is a cluster of one, without identities. anyone gives a command its address, write makes a file beside its
// data.
func oneServer(t *testing.T) (f *trustFleet, anyone func(...string) []string, write func(name, text string) string) {
	f = &trustFleet{t: t, dir: t.TempDir(), api: freePort(t)}
	spawn(t, "s1", "server", "--insecure", "--id", "s1", "--found", "--data-dir", filepath.Join(f.dir, "s1"),
		"--addr", f.api, "--raft-addr", freePort(t))
	anyone = func(args ...string) []string { return append([]string{"--addr", f.api}, args...) }
	return f, anyone, func(name, text string) string {
		name = filepath.Join(f.dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
}

// A host whose addresses for gossip and metrics are taken works, and says what it lacks;
// once they are free it has both, and says nothing any more.
func TestHostWorksWhileItsAddressesAreTaken(t *testing.T) {
	t.Parallel()
	f, anyone, write := oneServer(t)
	var taken []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		taken = append(taken, l)
	}
	gossip, metrics := taken[0].Addr().String(), taken[1].Addr().String()
	h1 := spawn(t, "h1", "agentd", "--config", write("h1.yaml", fmt.Sprintf(
		"servers: [%q]\ninsecure: true\ndata_dir: %q\nname: h1\non_stop: end\n"+
			"gossip: {bind: %q}\nmetrics: %q\nrunners:\n"+
			"- {name: w, program: %q, args: [dev-agent, words, --files, %q], user: %q}\n",
		f.api, filepath.Join(f.dir, "h1"), gossip, metrics, vigil(t), f.dir, runner.SameUser())))
	defer func() { (&testFleet{t: t, dir: f.dir}).clear("h1", h1) }()
	show := anyone("host", "show", "h1")
	f.until("anyone", "does not gossip", show...)
	f.until("anyone", "does not serve its metrics", show...)
	room := write("room.yaml", "room: web\nroles: [{name: words, runner: w}]\n")
	f.must("anyone", anyone("apply", "-f", room, "--yes")...)
	f.until("anyone", "waiting for a task", anyone("agent", "list")...)

	for _, l := range taken {
		_ = l.Close() // it is not in use
	}
	heard := func() bool {
		out, _ := f.as("anyone", append(show, "--json")...)
		var h struct {
			Views []struct{ Gossip string }
		}
		return json.Unmarshal([]byte(out), &h) == nil && len(h.Views) == 1 && h.Views[0].Gossip == "alive" &&
			!strings.Contains(out, "tries again")
	}
	for end, rest := time.Now().Add(patience), rests(); !heard(); rest() {
		if time.Now().After(end) {
			t.Fatalf("it is not heard in gossip, or still says what it lacked:\n%s", f.must("anyone", show...))
		}
	}
	resp, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("metrics: %s", resp.Status)
	}
	f.until("anyone", "waiting for a task", anyone("agent", "list")...)
}
