//go:build linux

package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// Servers are replaced one by one by new ones on other addresses, until none of those is left
// that host, agents and client were told of. Nobody is frozen, no life is lost, and an agentd
// that is started again with its old configuration finds the cluster. Nobody waits in between:
// a removal waits for the hosts.
func TestN25EveryServerIsReplaced(t *testing.T) {
	t.Parallel()
	vigil(t)
	f := newFleet(t)
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%[1]s]\ninsecure: true\ndata_dir: %[2]q\nname: h2\nrunners:\n"+
		"- {name: waits, program: sh, user: %[3]q, args: [-c, "+
		"'while :; do vigil wait-for-task --start >task.txt || exit; vigil task complete done || exit; done']}\n"+
		"- {name: sleeps, program: sleep, user: %[3]q, args: ['600']}\n",
		strings.Join(f.api, ", "), f.path("h2data"), runner.SameUser()))
	start := func() *proc { return spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml")) }
	h2 := start()
	t.Cleanup(func() { f.clear("h2data", h2) })
	f.apply("demo", "words", "waits", "sleeps")
	lives := map[string]string{}
	for len(lives) < 2 { // in whatever order they join
		e := f.await("joins of demo/words and demo/waits", func(e *vigilv1.Event) bool {
			return e.GetKind() == "agent.joined" && (e.GetAgent() == "demo/words" || e.GetAgent() == "demo/waits")
		})
		lives[e.GetAgent()] = e.GetIncarnation()
	}
	old := strings.Join(f.api, ",")
	for i := range 3 {
		id := fmt.Sprintf("n%d", i+1)
		api, raft := freePort(t), freePort(t)
		s := spawn(t, id, "server", "--insecure", "--id", id, "--data-dir", f.path(id), "--addr", api, "--raft-addr", raft,
			"--join", f.api[len(f.api)-1])
		s.shows(regexp.MustCompile(`server has joined the cluster`))
		f.api = append(f.api, api)
		gone := fmt.Sprintf("s%d", i+1)
		if _, err := f.status.RemoveServer(f.ctx(), &vigilv1.RemoveServerRequest{Server: gone}); err != nil {
			t.Fatalf("remove %s: %v", gone, err)
		}
		f.servers[i].signal(syscall.SIGTERM)
		<-f.servers[i].done
	}
	work := func() {
		t.Helper()
		for _, role := range []string{"words", "waits"} {
			f.completed(f.create("demo/" + role))
			if g := f.agent("demo/" + role); g.GetIncarnation() != lives["demo/"+role] {
				t.Errorf("%s lost its life: %v", role, g)
			}
		}
	}
	work()
	for _, p := range []*proc{f.agentd, h2} {
		if strings.Contains(p.out.String(), "the agent is frozen") {
			t.Errorf("%s has frozen agents", p.name)
		}
	}
	st, err := f.status.Status(f.ctx(), &vigilv1.StatusRequest{})
	if err != nil || len(st.GetServers()) != 3 || strings.Contains(fmt.Sprint(st.GetWarnings()), " knows ") {
		t.Errorf("%v, %v", st, err)
	}
	// The next agentd has nothing but its configuration and what it has written down.
	h2.signal(syscall.SIGKILL)
	<-h2.done
	h2 = start()
	t.Cleanup(func() { f.clear("h2data", h2) })
	h2.shows(regexp.MustCompile(`host registered`))
	work()
	// So has a program of an agent that was started before.
	setenv(t, "VIGIL_ADDR", old)
	setenv(t, "VIGIL_SERVERS", f.path("h2data/servers"))
	if p := spawn(t, "vigil status", "status", "--timeout", patience.String()); p.end() != 0 {
		t.Errorf("status: %s", p.out.tail())
	}
	if info, err := os.Stat(f.path("h2data/servers")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file: %v, %v", info, err)
	}
}
