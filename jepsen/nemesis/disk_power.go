//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"vigil/jepsen/disk"
	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// cutOff is how long the loss of power waits for a write that is under way.
const cutOff = 3 * time.Second

// loss is how one server loses power, drawn beforehand.
type loss struct {
	how      disk.Loss
	inFlight bool // in the middle of an fsync
}

func drawLoss(r *rand.Rand, ways ...string) loss {
	how := ways[r.IntN(len(ways))]
	return loss{disk.Loss{How: how, Seed: r.Uint64()}, how == disk.Torn || r.IntN(2) == 0}
}

// hold keeps a fsync of the server from ending, when it is to be struck in one.
func (l loss) hold(sv *stand.Server) error {
	if !l.inFlight {
		return nil
	}
	return sv.Disk().Set(disk.Faults{Stall: disk.Forever})
}

// strike takes the power of a server, which stays off, and says what was lost.
func (l loss) strike(sv *stand.Server) (string, error) {
	if err := sv.Kill(); err != nil {
		return "", errors.Join(err, good(sv))
	}
	lost, err := sv.Disk().Lose(l.how)
	return fmt.Sprintf("lost %s of %d writes and %d names", l.how.How, lost.Writes, lost.Names),
		errors.Join(err, good(sv))
}

// lostPower takes the power of a server and gives it back after up to 2 TTL.
func lostPower(find choice, ways ...string) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		l, span := drawLoss(r, ways...), f.Span(r, 0, 2)
		defer t.Begin(history.Killed, sv.Name)()
		defer t.Begin(history.Disk, sv.Name)()
		held := l.hold(sv)
		if l.inFlight {
			f.held(ctx, cutOff, sv)
		}
		note, err := l.strike(sv)
		err = errors.Join(held, err)
		f.Pause(ctx, span)
		return fmt.Sprintf("%s, off for %s", note, round(span)), errors.Join(err, sv.Start())
	})
}

// allLostPower takes the power of all servers. What was acknowledged was fsynced by a
// majority and must be there afterwards (law L8).
func allLostPower(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	var t Touched
	servers, span := f.Stand.Servers, f.Span(r, 0, 2)
	var names []string
	var struck []*stand.Server // in an fsync
	losses := map[*stand.Server]loss{}
	for _, sv := range servers {
		names = append(names, sv.Name)
		losses[sv] = drawLoss(r, disk.All, disk.Some, disk.Torn)
		if losses[sv].inFlight {
			struck = append(struck, sv)
		}
	}
	lag := time.Duration(r.IntN(200)) * time.Millisecond
	end := t.Begin(history.Killed, names...)
	endDisk := t.Begin(history.Disk, names...)
	_, held := each(struck, func(sv *stand.Server) (string, error) { return "", losses[sv].hold(sv) })
	f.held(ctx, cutOff, struck...)
	f.Pause(ctx, lag) // for what follows on other servers
	notes, err := each(servers, func(sv *stand.Server) (string, error) { return losses[sv].strike(sv) })
	f.Pause(ctx, span)
	_, started := each(servers, func(sv *stand.Server) (string, error) { return "", sv.Start() })
	endDisk()
	end()
	return t.Struck(strings.Join(notes, "; ") + ", off for " + round(span)), errors.Join(held, err, started)
}

// each does something to all servers at the same time.
func each(servers []*stand.Server, do func(*stand.Server) (string, error)) ([]string, error) {
	notes, errs := make([]string, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, sv := range servers {
		all.Go(func() {
			notes[i], errs[i] = do(sv)
			notes[i] = sv.Name + " " + notes[i]
		})
	}
	all.Wait()
	return notes, errors.Join(errs...)
}
