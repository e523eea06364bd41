package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm"
)

// newInspectCmd is `vigil server inspect`.
func newInspectCmd(a *cli.App) *cobra.Command {
	i := inspecting{App: a}
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Look into the data directory of a server that does not run",
		Long: `Look into the data directory of a server that does not run: whose it is, its log, its snapshots and what it
would start with. Everything is checked as at a start, and nothing is written. The last entries of a log may
be ones that were never agreed on.

With --entries it prints entries of the log, with --object what the log says of one agent, task or host, and
how that is after the last entry. Texts of tasks and mail, results and reasons are left out unless --texts is
given; secrets always.`,
		Example: `  vigil server inspect /var/lib/vigil-server
  vigil server inspect /var/lib/vigil-server --entries 4700..4711
  vigil server inspect /var/lib/vigil-server --object task/17`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return i.run(args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&i.entries, "entries", "", "print the entries FROM..TO; either may be left out")
	fl.StringVar(&i.object, "object", "", "print the history of agent/ROOM/ROLE, task/ID or host/NAME")
	fl.BoolVar(&i.texts, "texts", false, "show texts of people and agents, too")
	cmd.MarkFlagsMutuallyExclusive("entries", "object")
	return cmd
}

// inspecting is one run of the command.
type inspecting struct {
	*cli.App
	entries, object string
	texts           bool
	defect          func(*fsm.View, *fsm.Entry) // see cluster.Config
}

func (i *inspecting) run(dir string) error {
	var object cluster.Object
	if i.object != "" {
		var err error
		if object, err = cluster.ParseObject(i.object); err != nil {
			return cli.WrongUsage(err)
		}
	}
	if err := ownData(dir, "inspect"); err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: i.Err})
	data, err := cluster.Inspect(dir, log, i.defect)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.Usagef("%w: give the data directory of a server; its configuration names it as data_dir", err)
	case errors.Is(err, logstore.ErrInUse):
		return cli.ExitWith(cli.ExitConflict, err)
	case err != nil:
		return ServerError(fmt.Errorf("inspect %s: %w", dir, err))
	}
	defer data.Close() // nothing was written
	switch {
	case i.entries != "":
		return i.printEntries(data)
	case i.object != "":
		return i.printHistory(data, object)
	}
	return i.printAll(dir, data)
}

// printAll says what the directory is.
func (i *inspecting) printAll(dir string, data *cluster.Inspection) error {
	kinds, terms := map[string]int{}, map[uint64]bool{}
	for at := data.First; at <= data.Last && at > 0; at++ {
		e, err := data.Entry(at, false)
		if err != nil {
			return ServerError(err)
		}
		terms[e.Term] = true
		if e.Kind != "commands" {
			kinds["("+e.Kind+")"]++
		}
		if e.Unknown != "" {
			kinds["(unknown to this version)"]++
		}
		if e.Beats > 0 {
			kinds["(beats)"]++
		}
		for _, c := range e.Commands {
			kinds[c.Name]++
		}
	}
	snaps, err := data.Snapshots.List()
	if err != nil {
		return ServerError(err)
	}
	listed := slices.Sorted(maps.Keys(terms))
	if i.JSON {
		var list []map[string]any
		for _, s := range snaps {
			list = append(list, map[string]any{"id": s.ID, "index": s.Index, "term": s.Term, "bytes": s.Size})
		}
		return i.PrintJSON(map[string]any{"data_dir": dir, "server": data.Server, "cluster": data.Cluster, "log": data.Kind,
			"bytes": data.Bytes, "first": data.First, "last": data.Last, "term": data.CurrentTerm,
			"terms": listed, "commands": kinds, "torn": data.Torn, "snapshots": list,
			"damaged_snapshots": data.Damaged, "refused": len(data.Log.Refusals())})
	}
	pairs := []string{
		"server", data.Server + " of cluster " + data.Cluster,
		"size", term.BytesText(data.Bytes),
		"log", logWords(data, listed),
		"knows of", fmt.Sprintf("term %d", data.CurrentTerm),
	}
	for n, s := range snaps {
		pairs = append(pairs, "snapshot", fmt.Sprintf("%s: entry %d of term %d, %s%s", s.ID, s.Index, s.Term,
			term.BytesText(s.Size), map[bool]string{true: "; a start begins here"}[n == 0]))
	}
	for _, name := range data.Damaged {
		pairs = append(pairs, "snapshot", name+": damaged; the log holds what was in it")
	}
	for _, r := range data.Log.Refusals() {
		pairs = append(pairs, "refused", fmt.Sprintf("entry %d of term %d, %s%s", r.Index, r.Term, r.Sum,
			map[bool]string{false: "; the other servers are asked at the next start"}[r.Agreed]))
	}
	if data.Torn {
		pairs = append(pairs, "torn", "the last write was interrupted and never acknowledged; a start cuts it off")
	}
	if err := i.Pairs(pairs...); err != nil || len(kinds) == 0 {
		return err
	}
	tab := term.NewTable("COMMAND", ">COUNT")
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		tab.Add(name, strconv.Itoa(kinds[name]))
	}
	if err := i.Printf("\n"); err != nil {
		return err
	}
	return i.PrintTable(tab, "")
}

func logWords(data *cluster.Inspection, terms []uint64) string {
	if data.First == 0 || len(terms) == 0 {
		return fmt.Sprintf("%s, empty", data.Kind)
	}
	return fmt.Sprintf("%s, entries %d to %d, terms %d to %d", data.Kind, data.First, data.Last,
		terms[0], terms[len(terms)-1])
}

// printEntries prints entries of the log.
func (i *inspecting) printEntries(data *cluster.Inspection) error {
	from, to, ok := strings.Cut(i.entries, "..")
	if !ok {
		to = from
	}
	first, err := bound(from, data.First)
	if err != nil {
		return err
	}
	last, err := bound(to, data.Last)
	if err != nil {
		return err
	}
	if first, last = max(first, data.First), min(last, data.Last); first > last || first == 0 {
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("there are no entries %s: the log holds %d to %d", i.entries,
			data.First, data.Last))
	}
	var list []map[string]any
	for at := first; at <= last; at++ {
		e, err := data.Entry(at, i.texts)
		switch {
		case err != nil:
			return ServerError(err)
		case i.JSON:
			list = append(list, entryObject(&e))
		default:
			if err := i.printEntry(&e); err != nil {
				return err
			}
		}
	}
	if i.JSON {
		return i.PrintJSON(map[string]any{"entries": list})
	}
	return nil
}

func bound(text string, otherwise uint64) (uint64, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Usagef("--entries %q: say FROM..TO, two numbers", text)
	}
	return n, nil
}

func (i *inspecting) printEntry(e *cluster.EntrySeen) error {
	head := fmt.Sprintf("%d  term %d, %s", e.Index, e.Term, term.BytesText(int64(e.Bytes)))
	if e.Wall != 0 {
		head += ", " + e.Wall.Text()
	}
	if e.Kind != "commands" {
		head += ", " + e.Kind
	}
	if e.Beats > 0 {
		head += fmt.Sprintf(", beats of %d hosts", e.Beats)
	}
	if e.Refused {
		head += ", refused"
	}
	if e.Unknown != "" {
		head += ", " + e.Unknown
	}
	if err := i.Printf("%s\n", head); err != nil {
		return err
	}
	for _, c := range e.Commands {
		if err := i.Printf("    %s\n", strings.TrimSpace(term.Safe(c.Name+" "+c.Text))); err != nil {
			return err
		}
	}
	return nil
}

func entryObject(e *cluster.EntrySeen) map[string]any {
	commands := []map[string]string{}
	for _, c := range e.Commands {
		commands = append(commands, map[string]string{"name": c.Name, "fields": c.Text})
	}
	return map[string]any{"index": e.Index, "term": e.Term, "kind": e.Kind, "bytes": e.Bytes, "sum": e.Sum,
		"commands": commands, "beats": e.Beats, "refused": e.Refused, "unknown": e.Unknown}
}

// printHistory prints what the log says of an object.
func (i *inspecting) printHistory(data *cluster.Inspection, object cluster.Object) error {
	h, err := data.History(object, i.texts)
	if err != nil {
		return ServerError(err)
	}
	if i.JSON {
		return i.PrintJSON(historyObject(i.object, h))
	}
	for n := range h.Entries {
		e := &h.Entries[n]
		if err := i.printEntry(&e.EntrySeen); err != nil {
			return err
		}
		for _, ev := range e.Events {
			if err := i.Printf("    -> %s\n", term.OneLine(strings.TrimSpace(ev.Kind+" "+ev.Text))); err != nil {
				return err
			}
		}
	}
	switch {
	case h.Broken != nil:
		err = i.Printf("\nEntry %d with %s cannot be applied by this version (SHA-256 %s): what comes then is not known.\n",
			h.Broken.Index, h.Broken.What, h.Broken.Sum)
	case h.Object == nil:
		err = i.Printf("\nAfter entry %d there is no %s.\n", h.To, term.OneLine(i.object))
	default:
		err = i.Printf("\n%s after entry %d:\n", term.OneLine(i.object), h.To)
		for _, line := range h.Object {
			err = errors.Join(err, i.Printf("    %s\n", term.Safe(line)))
		}
	}
	return err
}

func historyObject(name string, h *cluster.History) map[string]any {
	list := []map[string]any{}
	for n := range h.Entries {
		e := &h.Entries[n]
		one, events := entryObject(&e.EntrySeen), []map[string]any{}
		for _, ev := range e.Events {
			events = append(events, map[string]any{"seq": ev.Seq, "kind": ev.Kind, "text": ev.Text})
		}
		one["events"] = events
		list = append(list, one)
	}
	object := map[string]any{"object": name, "from": h.From, "to": h.To, "entries": list, "state": h.Object}
	if h.Broken != nil {
		object["broken_at"], object["broken_sum"] = h.Broken.Index, h.Broken.Sum
	}
	return object
}
