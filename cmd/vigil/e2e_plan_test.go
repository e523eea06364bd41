//go:build linux

package main_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// What is expected of a task and how far it is, from the command that creates it over the
// agent that works on it to everybody who looks.
func TestExpectedCompletionAndPercentage(t *testing.T) {
	t.Parallel()
	c := newCrew(t, alone)
	c.role("web", func(s *vigilv1.RoleSpec) {
		byHand(time.Minute, 1)(s)
		s.Expect = durationpb.New(2 * time.Hour)
	})
	c.says("task create web/a Port --expect 3h", "task 1 is")
	c.says("task create web/a Tidy", "task 2 is")
	c.says("room show web", "EXPECT", "2h")
	c.says("task list", "EXPECTED", "3h", "2h")
	c.says("task show 1", "3h after the claim")
	c.shell("web/a").shows(regexp.MustCompile(`(?m)^claimed task 1,`))
	c.says("task start --agent web/a", "task 1 is in progress")
	c.says("task show 1", "(3h after the claim was said first)")
	c.says("task progress --agent web/a --percent 60 --expect 40m half", "task 1 is in progress")
	got, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: 1})
	if left := got.GetExpectLeft().AsDuration(); err != nil || got.GetPercent() != 60 || got.GetNote() != "half" ||
		left <= 0 || left > 40*time.Minute || got.GetExpect().AsDuration() != 3*time.Hour ||
		got.GetExtended() != 0 || got.GetAssigned() == nil {
		t.Errorf("%v, %v", got, err)
	}
	c.says("task progress --agent web/a --percent 65", "in progress") // the note and the expectation stay
	c.says("task show 1", "65%", "half", "last progress", "expected       in ")
	c.says("task show 1 --json", `"percent":65`, `"expect":"10800s"`, `"expected_completion":"`)
	c.says("task list", "DONE", "65%")
	c.says("agent explain web/a", "65% done, expected in ", "expectation: task 1 is expected to be done in ",
		"and 65 % of it is done by its own word")
	c.says("agent status web/a", "busy")
	for _, args := range [][]string{{"task", "progress", "--agent", "web/a", "--percent", "101"},
		{"task", "progress", "--agent", "web/a", "--expect", "-1s"},
		{"task", "create", "web/a", "x", "--expect", "0s"}, {"task", "create", "web/a", "x", "--expect", "soon"}} {
		if p := c.cli(args...); p.end() != 2 {
			t.Errorf("%s was taken: %s", fmt.Sprint(args), p.out.tail())
		}
	}
	c.says("task complete --agent web/a done", "task 1 is completed")
	c.says("task show 1", "COMPLETED", "65%")
}
