package top

import (
	"context"

	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// printOnce prints one look, for a pipe: as wide as it has to be, without colours.
func printOnce(ctx context.Context, a *cli.App, f *feed) error {
	s, err := f.look(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(&vigilv1.News{Index: s.overview.GetIndex(), Leader: s.overview.GetLeader(),
			Overview: proto.CloneOf(s.overview), Clock: s.overview.GetClock()})
	}
	o := s.overview
	if err := a.Pairs("leader", term.OrWord(o.GetLeader(), "none"), "brake", o.GetBrake(),
		"clock", term.Short(o.GetClock().AsDuration()), "agents", verdictText(o.GetVerdicts()),
		"tasks", tasksText(o.GetTasks()), "hosts", countsText(o.GetHosts(), hostStates)); err != nil {
		return err
	}
	for tab, rows := range [][]row{tabInbox: inboxRows(s.inbox), tabAgents: agentRows(s.agents),
		tabHosts: hostRows(s.hosts)} {
		var heads []string
		for _, c := range lists[tab].columns {
			head := c.head
			if c.right {
				head = ">" + head
			}
			if c.flex {
				head += "~"
			}
			heads = append(heads, head)
		}
		t := term.NewTable(heads...)
		for _, r := range rows {
			t.Add(r.cells...)
		}
		if err := a.Printf("\n"); err != nil {
			return err
		}
		if err := a.PrintTable(t, lists[tab].empty); err != nil {
			return err
		}
	}
	return nil
}
