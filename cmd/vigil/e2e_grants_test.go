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

// An agent does with plain commands what its role is granted, through the socket of its life, and nothing else.
func TestTrustAnAgentUsesWhatItsRoleIsGranted(t *testing.T) {
	t.Parallel()
	f := foundFleet(t)
	agentd := f.work()
	defer func() { (&testFleet{t: t, dir: f.dir}).clear("h1", agentd) }()
	out := filepath.Join(f.dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	calls := []struct{ args, says string }{
		{"agent list --room web", "words"},
		{"agent explain web/words", "words"},
		{"nudge web/words hello", "no tmux session"},
		{"agent restart web/words", ""},
		{"agent restart ops/boss", "may not"},
		{"agent list", "may not"},
		{"server remove s3", "No agent may make this call"},
		{"user list", "No agent may make this call"},
	}
	script := ""
	for i, c := range calls {
		script += fmt.Sprintf("%s %s >%s/%d.txt 2>&1; ", vigil(t), c.args, out, i)
	}
	for name, text := range map[string]string{
		"h1/runners.d/boss.yaml": fmt.Sprintf("name: boss\nprogram: sh\nargs: [-c, %q]\nuser: %s\n",
			script+"touch "+out+"/done; exec sleep 1000",
			strings.TrimSpace(userName(t))),
		"ops.yaml": "room: ops\nroles:\n  - {name: boss, runner: boss, " +
			"grants: [{role: operator, rooms: [web]}], containment: weak}\n",
	} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	agentd.signal(syscall.SIGHUP) // it reads its runners again
	f.must("admin", "apply", "-f", filepath.Join(f.dir, "ops.yaml"), "--yes")
	f.untilFile(filepath.Join(out, "done"))
	for i, c := range calls {
		text, err := os.ReadFile(filepath.Join(out, fmt.Sprint(i)+".txt"))
		if err != nil || !strings.Contains(string(text), c.says) ||
			c.says != "may not" && strings.Contains(string(text), "denied") {
			t.Errorf("vigil %s: %v, %s", c.args, err, text)
		}
	}
	f.until("admin", "     2  h1", "agent", "list", "--room", "web")
}
