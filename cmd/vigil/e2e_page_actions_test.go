//go:build linux

package main_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// actsRunner does with a task what its title says: it asks at a prompt, asks in words and reads its mail, waits for a
// word at its terminal, dies, or fails at the first attempt.
const actsRunner = `name: acts
kind: tmux
program: sh
args:
  - -c
  - |
    while line=$(vigil wait-for-task --start); do
      case "$line" in
      *": prompts"*) echo 'Do you want to proceed?'; echo '  1. Yes'; echo '  2. No'
        read -r answer; clear; vigil task complete "told: $answer" ;;
      *": asks"*) vigil declare needs-input 'which of the two?' || exit
        got=$(vigil mail read --wait) || exit
        vigil mail ack $(echo "$got" | sed -n 's/^mail \([0-9]*\), .*/\1/p') && vigil declare healthy || exit
        case "$got" in *"the second one"*) vigil task complete 'told by mail' ;; *) exit 4 ;; esac ;;
      *": holds"*) read -r answer; vigil task complete "told: $answer" ;;
      *": dies"*) exit 3 ;;
      *" attempt 1,"*": fails"*) vigil task fail 'no luck' ;;
      *) vigil task complete done ;;
      esac || exit
    done
prompts:
  - {kind: permission, pattern: '^Do you want to proceed\?\n.*1\. Yes'}
`

// Every action of the page that the other tests do not take is taken in a browser, about half of them by keyboard
// alone, in a fleet that is really in the state in which it is offered: the fleet itself tells what has come of it.
func TestPageActionsFromNPM(t *testing.T) {
	dir := pageOnly(t)
	c := newTerminalCrew(t, actsRunner, "look_every: 1s\nquiet_after: 1s\n")
	doomed := c.moreHost("h3", "roams", "lone")
	c.moreHost("h4", "roams")
	c.says("settings set ladder_enabled=false mail_urgent_limit=1s watchdog_start_delay=0s watchdog_interval=1s "+
		"watchdog_min_age=0s watchdog_grace=0s", "mail_urgent_limit")
	for _, room := range []string{"plain", "perm", "asks", "post", "doom", "clumsy"} {
		c.role(room, func(s *vigilv1.RoleSpec) {
			if s.Runner = "acts"; room == "doom" {
				s.Replicas, s.KillLimit = 3, 1
			}
		})
	}
	for room, name := range map[string]string{"park": "words", "roam": "roams", "lone": "lone", "lost": "lone"} {
		c.role(room, func(s *vigilv1.RoleSpec) {
			if s.Runner = name; name == "lone" {
				s.Ttl = durationpb.New(5 * time.Second) // its host dies
			}
			if room == "lone" {
				s.Policy, s.Containment = "confirm", "weak"
			}
		})
	}
	c.role("quiet", byHand(time.Minute, 1))
	c.role("nobody", byHand(time.Minute, 1))
	for _, room := range []string{"plain", "perm", "asks", "post", "doom", "clumsy", "park", "roam", "lone", "lost"} {
		c.running(room + "/a")
	}
	browse(t, dir, 10*time.Minute, "actions.mjs", c.page(), shots(t), vigil(t), c.api[0],
		strconv.Itoa(doomed.cmd.Process.Pid))
}

// moreHost starts the agentd of one more host, whose runners do nothing until they get a task.
func (c *crew) moreHost(name string, runners ...string) *proc {
	c.t.Helper()
	var list strings.Builder
	for _, r := range runners {
		fmt.Fprintf(&list, "  - {name: %s, program: %q, user: %q, args: [dev-agent, words, --files, %q]}\n", r, vigil(c.t),
			runner.SameUser(), c.path("input"))
	}
	c.write(name+".yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: %s\nrunners:\n%s",
		strings.Join(c.api, ", "), c.path(name), name, list.String()))
	agentd := spawn(c.t, name, "agentd", "--config", c.path(name+".yaml"))
	c.t.Cleanup(func() { c.clear(name, agentd) })
	return agentd
}
