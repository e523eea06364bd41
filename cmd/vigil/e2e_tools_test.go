//go:build linux

package main_test

import (
	"fmt"
	"strings"
	"testing"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// Agents find vigil though agentd's PATH lacks it; a script that calls what is not there is
// shown as a start that failed, with a remedy, and not parked.
func TestN03AgentsOfAHostFindVigil(t *testing.T) {
	t.Parallel()
	vigil(t) // its building needs the PATH
	setenv(t, "PATH", "/usr/bin:/bin")
	f := newFleet(t, alone)
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%[1]s]\ninsecure: true\ndata_dir: %[2]q\n"+
		"name: h2\non_stop: end\nrunners:\n"+
		"- {name: good, program: sh, user: %[3]q, args: [-c, 'vigil wait-for-task']}\n"+
		"- {name: bad, program: sh, user: %[3]q, args: [-c, no-such-tool]}\n",
		strings.Join(f.api, ", "), f.path("h2data"), runner.SameUser()))
	agentd := spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml"))
	t.Cleanup(func() { f.clear("h2data", agentd) })
	f.apply("demo", "good", "bad")
	f.joined("demo/good", "")
	for range 2 { // the first one is tried again at once
		f.await("the fault", func(e *vigilv1.Event) bool {
			return e.GetKind() == "agent.exited" && e.GetAgent() == "demo/bad" &&
				strings.HasPrefix(e.GetText(), "could not be started: its program, or one that it calls, was not found")
		})
	}
	if g := f.agent("demo/bad"); g.GetFailures() != 1 || !strings.Contains(g.GetStartFault(), "install it") {
		t.Errorf("%v", g)
	}
}
