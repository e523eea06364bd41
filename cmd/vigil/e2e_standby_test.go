//go:build linux

package main_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// A standby gets the vote of a server that is gone by itself, after the time that the cluster was told. Who was lost
// comes back as the next standby, and the command to replace one uses it. Work goes on all the time.
func TestStandbyTakesThePlaceOfALostServer(t *testing.T) {
	t.Parallel()
	vigil(t)
	f := newFleet(t)
	api, raft := freePort(t), freePort(t)
	s4 := spawn(t, "n4", "server", "--insecure", "--id", "n4", "--zone", "b", "--data-dir", f.path("n4"), "--addr", api,
		"--raft-addr", raft, "--standby", "--join", f.api[0])
	s4.shows(regexp.MustCompile(`server has joined the cluster`))
	f.apply("demo", "words")
	setenv(t, "VIGIL_ADDR", strings.Join(append(f.api, api), ","))
	says := func(want string, command ...string) {
		t.Helper()
		p := spawn(t, "vigil", command...)
		if code := p.end(); code != 0 || !regexp.MustCompile(want).MatchString(p.out.String()) {
			t.Fatalf("%v ended with %d and printed %s, without %s", command, code, p.out.String(), want)
		}
	}
	says(`n4 +standby +b `, "server", "list")
	says(`replace_servers`, "settings", "set", "replace_servers=5s")
	gone := f.servers[1]
	gone.signal(syscall.SIGKILL)
	<-gone.done
	f.await("the vote of n4", func(e *vigilv1.Event) bool {
		return e.GetKind() == "server.voter" && strings.HasPrefix(e.GetText(), "n4: nobody has heard server s2 for ")
	})
	f.await("s2 as a standby", func(e *vigilv1.Event) bool {
		return e.GetKind() == "server.standby" && strings.HasPrefix(e.GetText(), "s2: ")
	})
	f.completed(f.create("demo/words"))
	f.servers[1] = f.startServer(1)
	says(`n4 has taken|s2 has taken the place of n4`, "server", "replace", "n4", "s2", "--timeout", patience.String())
	says(`s2 +(voter|leader)`, "server", "list")
	f.voters(3)
	f.completed(f.create("demo/words"))
}
