package main

import (
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// A script that reads a result which was dropped for want of space does not go on with an empty one.
func TestADroppedResultIsNoSuccess(t *testing.T) {
	t.Parallel()
	f := newMCPFleet(t, time.Minute)
	env := map[string]string{"VIGIL_ADDR": f.addr}
	must(vigilv1.NewClusterClient(f.client).PutSettings(f.ctx(), &vigilv1.PutSettingsRequest{
		Values: map[string]string{"budget_tasks": "32KiB", "budget_room_share": "100"}}))(t)
	create := []string{"task", "create", "web/builder", "Build it", "--id", "b1"}
	f.in(env, 0, "task 1 is pending", create...)
	f.task("builder", "Without a result", strings.Repeat("x", 3000))
	c := f.connect("web/builder")
	for id, result := range []string{strings.Repeat("r", 3000), ""} {
		c.claims(uint64(id + 1))
		c.says("complete_task", map[string]any{"result": result})
	}
	f.in(env, 0, "rrr", "task", "show", "1", "--result")
	for range 100 { // more than there is space for
		one := f.task("builder", "Another", strings.Repeat("x", 5000))
		must(f.fleet.CancelTask(f.ctx(), &vigilv1.CancelTaskRequest{Task: one}))(t)
		if f.get(2).GetTextGone() {
			break
		}
	}
	const gone = "the result of task 1 is not whole: 3000 bytes of it went"
	f.in(env, cli.ExitFailed, gone, "task", "show", "1", "--result")
	f.in(env, cli.ExitFailed, gone, append(create, "--wait")...)
	f.in(env, 0, "", "task", "show", "2", "--result")
	if x := f.get(2); !x.GetTextGone() || x.GetResultDropped() != 0 {
		t.Errorf("the second is %v", x)
	}
}
