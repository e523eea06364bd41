//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"vigil/jepsen/disk"
	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// Limits of a server with a bad disk.
const (
	// A server that is refused a write ends within this time; one that goes on later
	// than that has not needed it.
	endsWithin = 10 * time.Second
	// A server whose disk hangs ends after 5 s; a machine that is overloaded takes
	// longer to do so.
	stuckLimit = time.Minute
	// How long a server may write nothing although it takes part.
	idleLimit = 20 * time.Second
)

// diskKinds make disks of servers fail, one at a time.
func diskKinds() []*Kind {
	one := func(name, says string, weight int, s strike) *Kind {
		return &Kind{Name: name, Lane: Disks, Says: says, Weight: weight, Takes: true, Needs: needsDisks, Strike: s}
	}
	slow := one("server_disk_slow",
		"Each read, write and fsync of a server takes 2 to 40 ms longer, for 1 to 4 TTL.", 2, diskSlow(anyone))
	slowLeader := one("leader_disk_slow",
		"Each read, write and fsync of the leader takes 2 to 40 ms longer, for 1 to 4 TTL.", 2, diskSlow(leading))
	slow.Takes, slowLeader.Takes = false, false
	return []*Kind{
		one("server_disk_full", "A server's disk is full (ENOSPC) for 0.5 to 2 TTL; the server ends and "+
			"is started again.", 2, refused(anyone, syscall.ENOSPC)),
		one("leader_disk_full", "The leader's disk is full (ENOSPC) for 0.5 to 2 TTL; it ends and is "+
			"started again.", 2, refused(leading, syscall.ENOSPC)),
		one("server_disk_fails", "Writes of a server fail (EIO) for 0.5 to 2 TTL; the server ends and "+
			"is started again.", 1, refused(anyone, syscall.EIO)),
		one("leader_disk_fails", "Writes of the leader fail (EIO) for 0.5 to 2 TTL; it ends and is "+
			"started again.", 1, refused(leading, syscall.EIO)),
		one("server_fsync_fails", "Each fsync of a server fails (EIO); it ends, what was not fsynced is "+
			"lost, and it is started again.", 1, fsyncFails),
		one("server_fsync_held", "Each fsync of a server waits for up to 1 to 4 s, less than the "+
			"server bears.", 2, fsyncHeld(anyone)),
		one("leader_fsync_held", "Each fsync of the leader waits for up to 1 to 4 s, less than it bears.",
			3, fsyncHeld(leading)),
		one("server_fsync_stuck", "No fsync of a server returns until the server ends, as it must "+
			"within some 5 s; it is started again.", 1, fsyncStuck(anyone)),
		one("leader_fsync_stuck", "No fsync of the leader returns until it ends, as it must within some "+
			"5 s; it is started again.", 2, fsyncStuck(leading)),
		slow, slowLeader,
		one("server_tail_torn", "A server is killed in the middle of an fsync; of the last write a part "+
			"is on the disk.", 3, lostPower(anyone, disk.Torn)),
		one("leader_tail_torn", "The leader is killed in the middle of an fsync; of the last write a "+
			"part is on the disk.", 3, lostPower(leading, disk.Torn)),
		one("server_unsynced_lost", "A server loses power: what was not fsynced is lost, all of it or "+
			"any sectors.", 3, lostPower(anyone, disk.All, disk.Some)),
		one("leader_unsynced_lost", "The leader loses power: what was not fsynced is lost, all of it or "+
			"any sectors.", 3, lostPower(leading, disk.All, disk.Some)),
		one("server_log_flipped", "A bit of a stored log entry of a server is turned over while it is "+
			"down. It must refuse to go on; it is emptied and joins again.", 2, logFlipped),
		one("server_log_file_flipped",
			"Up to 64 bits anywhere in the file of a server's log are turned over while it is down. It "+
				"refuses, or none of them was in use; it is emptied and joins again.", 1, fileFlipped),
		one("server_snapshot_flipped",
			"A bit of a server's newest snapshot is turned over while it is down. It goes on from "+
				"others, or is emptied and joins again.", 2, snapshotFlipped),
		one("server_emptied", "A server loses everything on its disk, is removed, and joins again.", 1, emptied),
		{
			Name: "all_unsynced_lost", Lane: Alone, Weight: 3, Takes: true, Needs: needsDisks, Strike: allLostPower,
			Says: "All servers lose power at the same moment: what was not fsynced is lost on each, all of it or any sectors.",
		},
	}
}

func needsDisks(f *Field) string {
	if f.Stand.Servers[0].Disk() == nil {
		return "the stand has no disks that can fail"
	}
	return ""
}

// good ends all faults of a server's disk.
func good(sv *stand.Server) error { return sv.Disk().Set(disk.Faults{}) }

// again starts a server that has ended, or does so within a time, and tells how.
func again(sv *stand.Server, within time.Duration) (how string, err error) {
	if sv.Up() {
		timer := time.NewTimer(within)
		defer timer.Stop()
		select {
		case <-sv.Process.Done():
		case <-timer.C:
			return "it went on", nil
		}
	}
	return fmt.Sprintf("it ended with code %d", sv.Process.Code()), sv.Start()
}

// refused refuses writes for a while. A server that met that has to end.
func refused(find choice, errno syscall.Errno) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0.5, 2)
		defer t.Begin(history.Disk, sv.Name)()
		before, err := sv.Disk().Stats()
		if err != nil {
			return "", err
		}
		err = sv.Disk().Set(disk.Faults{Refuse: errno})
		f.Pause(ctx, span)
		if err := errors.Join(err, good(sv)); err != nil {
			return "", err
		}
		after, err := sv.Disk().Stats()
		if err != nil {
			return "", err
		}
		if after.Refused == before.Refused && sv.Up() {
			return "for " + round(span) + ", it wrote nothing", nil
		}
		how, err := again(sv, endsWithin)
		return fmt.Sprintf("for %s, %s", round(span), how), err
	})
}

var fsyncFails = onServer(anyone, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	defer t.Begin(history.Disk, sv.Name)()
	err := sv.Disk().Set(disk.Faults{RefuseSync: syscall.EIO})
	f.ends(ctx, sv, idleLimit)
	// After a failed fsync nobody knows what is on the disk: whoever goes on must not
	// count on it. What was written since then is gone.
	if err := errors.Join(err, sv.Kill()); err != nil {
		return "", err
	}
	how := fmt.Sprintf("it ended with code %d", sv.Process.Code())
	lost, err := sv.Disk().Lose(disk.Loss{How: disk.All, Seed: r.Uint64()})
	return fmt.Sprintf("%s, %d writes lost", how, lost.Writes), errors.Join(err, good(sv), sv.Start())
})

// ends waits until a server's process is gone; at most for a time, or until ctx ends.
func (f *Field) ends(ctx context.Context, sv *stand.Server, within time.Duration) bool {
	for end := time.Now().Add(within); sv.Up(); {
		if time.Now().After(end) || !f.Pause(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}

func fsyncHeld(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := time.Second + time.Duration(r.Int64N(int64(3*time.Second)))
		defer t.Begin(history.Disk, sv.Name)()
		// A call that comes last is let go with the others.
		err := sv.Disk().Set(disk.Faults{Stall: disk.Forever})
		f.Pause(ctx, span)
		if err := errors.Join(err, good(sv)); err != nil {
			return "", err
		}
		if sv.Up() {
			return "for " + round(span), nil
		}
		how, err := again(sv, 0) // for instance because this machine was overloaded
		return fmt.Sprintf("for %s, %s", round(span), how), err
	})
}

func fsyncStuck(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, _ *rand.Rand,
		t *Touched) (string, error) {
		defer t.Begin(history.Disk, sv.Name)()
		err := sv.Disk().Set(disk.Faults{Stall: disk.Forever})
		began := time.Now()
		waits := f.held(ctx, idleLimit, sv)
		ended := waits && f.ends(ctx, sv, stuckLimit)
		took := time.Since(began)
		if err := errors.Join(err, good(sv)); err != nil {
			return "", err
		}
		switch {
		case !waits:
			return "it wrote nothing", nil
		case !ended && ctx.Err() == nil:
			return "", fmt.Errorf("server %s goes on although its fsync has been stuck for %s", sv.Name, round(took))
		case !ended:
			return "the run ended first", nil
		}
		how, err := again(sv, 0)
		return fmt.Sprintf("%s after %s", how, round(took)), err
	})
}

// held waits until a call waits for the disk of one of the servers.
func (f *Field) held(ctx context.Context, within time.Duration, servers ...*stand.Server) bool {
	for end := time.Now().Add(within); time.Now().Before(end); {
		up := false
		for _, sv := range servers {
			up = up || sv.Up()
			if st, err := sv.Disk().Stats(); err == nil && st.Waiting > 0 {
				return true
			}
		}
		if !up || !f.Pause(ctx, 5*time.Millisecond) {
			return false
		}
	}
	return false
}

func diskSlow(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span, by := f.Span(r, 1, 4), time.Duration(2+r.IntN(38))*time.Millisecond
		defer t.Begin(history.Slow, sv.Name)()
		err := sv.Disk().Set(disk.Faults{Slow: by})
		f.Pause(ctx, span)
		return fmt.Sprintf("by %s for %s", by, round(span)), errors.Join(err, good(sv))
	})
}

// healDisks makes every disk good. Servers that have ended are started by whoever
// heals machines.
func healDisks(f *Field) error {
	var errs []error
	for _, sv := range f.Stand.Servers {
		if sv.Disk() != nil {
			errs = append(errs, good(sv))
		}
	}
	return errors.Join(errs...)
}
