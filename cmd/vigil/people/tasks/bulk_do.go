package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
)

// bulkFlight is how many tasks are changed at once: enough that servers gather them into few
// log entries, and few enough that others are served beside them.
const bulkFlight = 64

// result is what became of one task.
type result struct {
	Task    uint64 `json:"task"`
	Result  string `json:"result"` // done, changed, refused
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// bulkDone is what became of all of them.
type bulkDone struct {
	mu      sync.Mutex
	results []result
	counts  map[string]int
}

func (d *bulkDone) add(r result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts == nil {
		d.counts = map[string]int{}
	}
	d.results, d.counts[r.Result] = append(d.results, r), d.counts[r.Result]+1
}

// object is the plan and what was done, for --json.
func (b *bulk) object(d *bulkDone) map[string]any {
	return map[string]any{"verb": b.verb.name, "planned": len(b.chosen), "groups": b.groups,
		"done": d.counts["done"], "changed": d.counts["changed"], "refused": d.counts["refused"],
		"results": d.results, "dry_run": b.choice.dryRun}
}

// do changes the tasks. Queued ones come first, the newest before the others: when one at the
// head of a queue goes, the next moves up, and would count as changed.
func (b *bulk) do(ctx context.Context, c *cli.Conn) (err error) {
	var queued, others []chosenTask
	for _, t := range slices.Backward(b.chosen) {
		if t.queued {
			queued = append(queued, t)
		} else {
			others = append(others, t)
		}
	}
	d := &bulkDone{}
	if err = b.each(ctx, c, queued, d); err == nil {
		err = b.each(ctx, c, others, d)
	}
	b.ProgressEnd()
	slices.SortFunc(d.results, func(x, y result) int { return cmp.Compare(x.Task, y.Task) })
	if said := b.say(d); said != nil {
		return said
	}
	switch left := len(b.chosen) - len(d.results); {
	case err != nil:
		return fmt.Errorf("%s could not be tried; give the command again: %w", term.Plural(left, "task"), err)
	case d.counts["done"] < len(d.results):
		return cli.ExitWith(cli.ExitConflict, nil)
	}
	return nil
}

// each changes some of the tasks, a bounded number at once. The first error that is no answer
// about a task ends it.
func (b *bulk) each(ctx context.Context, c *cli.Conn, tasks []chosenTask, d *bulkDone) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(bulkFlight)
	for _, t := range tasks {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			r, err := b.one(inner, c, t)
			if err == nil {
				d.add(r)
			}
			return err
		})
		d.mu.Lock()
		b.Progress("%d of %d tasks", len(d.results), len(b.chosen))
		d.mu.Unlock()
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// one changes a task if it is as the plan has seen it.
func (b *bulk) one(ctx context.Context, c *cli.Conn, t chosenTask) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, bulkCall)
	defer cancel()
	_, err := b.verb.change(ctx, c, t.id, t.rev)
	if err == nil {
		return result{Task: t.id, Result: "done"}, nil
	}
	r := result{Task: t.id, Result: "refused", Code: cli.ErrorName(err), Message: term.OneLine(err.Error())}
	var e *client.Error
	if errors.As(err, &e) && e.Rev != 0 && e.Rev != t.rev || errors.Is(err, client.ErrNotFound) {
		r.Result = "changed"
	}
	switch cli.ExitCode(err) {
	case cli.ExitConflict, cli.ExitNotFound, cli.ExitUsage:
		return r, nil
	}
	return r, err
}

// bulkCall is how long one task is tried, an election or two included.
const bulkCall = 4 * cli.DefaultTimeout

// say tells people and programs what was done.
func (b *bulk) say(d *bulkDone) error {
	if b.JSON {
		return b.PrintJSON(b.object(d))
	}
	line := fmt.Sprintf("%s %s", wereDone(d.counts["done"]), b.verb.did)
	if n := d.counts["changed"]; n > 0 {
		line += fmt.Sprintf("; %d left alone, since they have changed since the plan", n)
	}
	if n := d.counts["refused"]; n > 0 {
		line += fmt.Sprintf("; %d refused:", n)
	}
	if err := b.Printf("%s\n", line); err != nil {
		return err
	}
	shown := 0
	for _, r := range d.results {
		if r.Result != "refused" {
			continue
		}
		if shown++; shown > cli.PlanShown {
			return b.Printf("  and %d more, all of them with --json\n", d.counts["refused"]-cli.PlanShown)
		}
		if err := b.Printf("  task %d: %s\n", r.Task, r.Message); err != nil {
			return err
		}
	}
	return nil
}

func wereDone(n int) string {
	if n == 1 {
		return "1 task was"
	}
	return term.Plural(n, "task") + " were"
}
