package rooms

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// applier is one run of `vigil apply`.
type applier struct {
	*cli.App
	file                    string
	dryRun, yes, now, prune bool
	wait                    bool
}

// NewApplyCommand is `vigil apply`.
func NewApplyCommand(a *cli.App) *cobra.Command {
	x := &applier{App: a}
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create or change rooms so that they are as FILE declares",
		Long: `Create or change rooms so that they are as FILE (- for standard input) declares, or all
files *.yaml and *.yml of a folder. One file may hold several rooms, separated by ---. All
are checked, and a plan of what would change is printed, before the first is changed.

A role that is no longer declared is retired: its agents are stopped. With fewer replicas,
agents that hold a task finish it and end then; --now ends them at once. What would end
agents at work or cancel tasks, and every room that --prune deletes, has to be confirmed:
by an answer on a terminal, or by --yes.`,
		Example: `  vigil apply -f configs/room.yaml
  vigil apply -f room.yaml --dry-run
  vigil apply -f rooms/ --prune`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rooms, err := x.read()
			if err != nil {
				return err
			}
			return x.run(cmd, rooms)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&x.file, "file", "f", "", "file or folder with the rooms, - for standard input")
	flags.BoolVar(&x.dryRun, "dry-run", false, "check everything, print the plan and change nothing")
	flags.BoolVar(&x.now, "now", false, "with fewer replicas: do not wait for agents at work")
	flags.BoolVar(&x.prune, "prune", false, "with a folder: delete every room that it does not declare")
	flags.BoolVar(&x.yes, "yes", false, "go on without a question although agents at work end or tasks are canceled")
	flags.BoolVar(&x.wait, "wait", false, "wait until every agent is created, changed or retired")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml") // the flag is there
	return cmd
}

// read reads the rooms of the file, or of all files of the folder.
func (x *applier) read() ([]*vigilv1.ApplyRoomRequest, error) {
	if x.file == "" {
		return nil, cli.Usagef("name the file with -f FILE, or - for standard input")
	}
	names, folder := []string{x.file}, false
	if info, err := os.Stat(x.file); err == nil && info.IsDir() {
		names, folder = nil, true
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			found, err := filepath.Glob(filepath.Join(x.file, pattern))
			if err != nil {
				return nil, cli.Usagef("list %s: %w", x.file, err)
			}
			names = append(names, found...)
		}
		if slices.Sort(names); len(names) == 0 {
			return nil, cli.Usagef("folder %s has no file *.yaml or *.yml", x.file)
		}
	}
	if x.prune && !folder {
		return nil, cli.Usagef("flag --prune: "+
			"it deletes what a folder does not declare, and %s is none; name the folder with -f", x.file)
	}
	var rooms []*vigilv1.ApplyRoomRequest
	from := map[string]string{}
	for _, name := range names {
		text, err := x.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := conf.ParseRooms(name, text)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if other, twice := from[r.GetRoom()]; twice {
				return nil, cli.Usagef("room %s is declared twice, in %s and in %s: keep one", r.GetRoom(), other, name)
			}
			from[r.GetRoom()] = name
			r.By, r.Now = x.Me(), x.now
			rooms = append(rooms, r)
		}
	}
	return rooms, nil
}

// run plans all rooms, asks when the plan does harm, then changes one after the other. The
// time for an answer is nobody's limit.
func (x *applier) run(cmd *cobra.Command, rooms []*vigilv1.ApplyRoomRequest) error {
	plans := &changePlan{}
	var gone []*vigilv1.DeleteRoomRequest
	err := x.Ask(cmd, func(ctx context.Context, c *cli.Conn) (err error) {
		for _, r := range rooms {
			r.DryRun = true
			room, err := c.Fleet.ApplyRoom(ctx, r)
			if err != nil {
				return fmt.Errorf("apply room %s: %w", r.GetRoom(), err)
			}
			plans.add(room, room.GetPlan())
			for _, w := range room.GetPlan().GetWarnings() {
				if !x.JSON {
					fmt.Fprintf(x.Err, "warning: room %s, %s\n", r.GetRoom(), term.OneLine(w))
				}
			}
		}
		gone, err = x.pruned(ctx, c, rooms, plans)
		return err
	})
	if err != nil {
		return err
	}
	if x.dryRun {
		if x.JSON {
			return x.PrintJSON(&vigilv1.ListRoomsResponse{Rooms: plans.rooms})
		}
		return x.Printf("%sNothing was changed.\n", plans.text())
	}
	sure, err := x.ConfirmPlan(plans.text(), plans.harm(), x.yes)
	if err != nil {
		return err
	}
	asked := sure && !x.yes
	for i, r := range rooms {
		r.Gentle = !sure
		if asked { // a person has said yes to this plan, and to no other
			r.IfRev, r.Gentle = plans.rooms[i].GetRev(), !plans.harms(i)
		}
	}
	for i, r := range gone {
		r.Gentle = asked && !plans.harms(len(rooms)+i)
	}
	ask := x.Ask
	if x.wait {
		ask = x.Follow
	}
	return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		for _, r := range rooms {
			if asked && r.GetIfRev() == 0 {
				if err := stillMissing(ctx, c, r); err != nil {
					return err
				}
			}
		}
		return x.change(ctx, c, rooms, gone)
	})
}

// stillMissing refuses a room that was to be created and that somebody else has created since: revisions cannot
// say so to the servers.
func stillMissing(ctx context.Context, c *cli.Conn, r *vigilv1.ApplyRoomRequest) error {
	now, err := c.Fleet.ApplyRoom(ctx, r) // still a dry run
	if err == nil && !now.GetPlan().GetCreated() {
		err = &client.Error{Code: "conflict", Rev: now.GetRev(),
			Message: fmt.Sprintf("room %q was created meanwhile", r.GetRoom())}
	}
	if err != nil {
		return lookAgain("apply", r.GetRoom(), err)
	}
	return nil
}

// lookAgain adds to a conflict what to do about it.
func lookAgain(verb, room string, err error) error {
	if !errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("%s room %s: %w", verb, room, err)
	}
	return fmt.Errorf("%s room %s: %w; it is no longer as in the plan and was left alone: give the command again to "+
		"look at the plan of now", verb, room, err)
}

// change makes the rooms what they are declared as, and deletes those that are gone.
func (x *applier) change(ctx context.Context, c *cli.Conn, rooms []*vigilv1.ApplyRoomRequest,
	gone []*vigilv1.DeleteRoomRequest) error {
	list := &vigilv1.ListRoomsResponse{}
	defer x.ProgressEnd()
	for i, r := range rooms {
		x.Progress("room %d of %d: %s", i+1, len(rooms), r.GetRoom())
		r.DryRun = false
		room, err := c.Fleet.ApplyRoom(ctx, r)
		if err != nil {
			return lookAgain("apply", r.GetRoom(), err)
		}
		list.Rooms = append(list.Rooms, room)
		if x.JSON {
			continue
		}
		x.ProgressEnd()
		if err := x.Printf("room %s applied: %s, revision %d\n", room.GetName(),
			term.Plural(len(room.GetRoles()), "role"), room.GetRev()); err != nil {
			return err
		}
		if err := saysOutdated(x.App, room); err != nil {
			return err
		}
	}
	for _, r := range gone {
		r.DryRun = false
		if err := deleteRoom(ctx, x.App, c, r); err != nil && !goes(ctx, c, r.GetRoom()) {
			return lookAgain("delete", r.GetRoom(), err)
		}
	}
	if x.wait {
		if err := x.await(ctx, c, list); err != nil {
			return err
		}
	}
	if x.JSON {
		return x.PrintJSON(list)
	}
	return nil
}

// goes tells whether somebody else has deleted a room already.
func goes(ctx context.Context, c *cli.Conn, name string) bool {
	room, err := c.Fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: name})
	return errors.Is(err, client.ErrNotFound) || room.GetDeleting()
}

// pruned are the rooms that --prune deletes, as they are now: one that somebody changes until then is declared
// by somebody. Their plans join the others.
func (x *applier) pruned(ctx context.Context, c *cli.Conn, rooms []*vigilv1.ApplyRoomRequest,
	plans *changePlan) (gone []*vigilv1.DeleteRoomRequest, err error) {
	if !x.prune {
		return nil, nil
	}
	for after, more := "", true; more; more = after != "" {
		page, err := c.Fleet.ListRooms(ctx, &vigilv1.ListRoomsRequest{After: after})
		if err != nil {
			return nil, err
		}
		for _, room := range page.GetRooms() {
			declared := slices.ContainsFunc(rooms,
				func(r *vigilv1.ApplyRoomRequest) bool { return r.GetRoom() == room.GetName() })
			if declared || room.GetDeleting() {
				continue
			}
			request := &vigilv1.DeleteRoomRequest{Room: room.GetName(), By: x.Me(), IfRev: room.GetRev(), DryRun: true}
			answer, err := c.Fleet.DeleteRoom(ctx, request)
			if err != nil && goes(ctx, c, room.GetName()) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("delete room %s: %w", room.GetName(), err)
			}
			plans.add(room, answer.GetPlan())
			plans.unasked++
			gone = append(gone, request)
		}
		after = page.GetNext()
	}
	return gone, nil
}

// saysOutdated tells after a change of rooms who does not live by it.
func saysOutdated(a *cli.App, room *vigilv1.Room) error {
	for _, r := range room.GetRoles() {
		n := r.GetOutdated()
		if n == 0 {
			continue
		}
		live := "agents live"
		if n == 1 {
			live = "agent lives"
		}
		if err := a.Printf("role %s/%s: %d %s as declared before; "+
			"`vigil agent restart --outdated --room %s` renews them one by one\n",
			room.GetName(), r.GetSpec().GetName(), n, live, room.GetName()); err != nil {
			return err
		}
	}
	return nil
}
