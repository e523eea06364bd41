package backup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"github.com/hashicorp/go-hclog"
)

// While the keys cannot be read no backup is made: it would be in clear. It is made once they can.
func TestNoBackupWithoutItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.members = []Member{{ID: "a", Voter: true, Leader: true}}
		key, missing := newKey(t), atomic.Bool{}
		missing.Store(true)
		k, err := Open(Config{Server: "a", Every: every, Keep: 3, Target: shelfOf{f.shelf, "a"}, Source: f,
			Logger: hclog.NewNullLogger(), Wall: f.wall, Recipients: func() ([]age.Recipient, error) {
				if missing.Load() {
					return nil, errors.New("no such file")
				}
				return []age.Recipient{key.Recipient()}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go k.Run(ctx)
		f.pass(time.Hour)
		if len(f.made()) != 0 || value(k.figures.failures) == 0 {
			t.Errorf("made by %v, %v failures", f.made(), value(k.figures.failures))
		}
		missing.Store(false)
		f.pass(2 * time.Hour)
		f.wants("with keys", "a")
		if n := f.shelf.newest(); !n.Encrypted {
			t.Errorf("%+v is in clear", n)
		}
	})
}

// Where a disk has no room for the next backup those go first that it outdates, if that is enough; else nothing goes.
func TestRoomIsMadeForABackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		lacks := func(bytes int) (before []Name) {
			f.shelf.mu.Lock()
			f.shelf.space = f.shelf.used() + int(f.shelf.about) - bytes
			f.shelf.mu.Unlock()
			before, _ = f.shelf.List(t.Context(), "prod")
			ByIndex(before)
			return before
		}
		left := func() []Name {
			list, _ := f.shelf.List(t.Context(), "prod")
			ByIndex(list)
			return list
		}
		f.pass(3 * every)
		if n := len(left()); n != 3 {
			t.Fatalf("%d backups are kept", n)
		}
		before := lacks(1)
		f.pass(every)
		if now := left(); len(now) != 3 || !slices.Equal(now[1:], before[:2]) {
			t.Errorf("with room for the oldest: %v, before %v", now, before)
		}
		if n := value(f.keepers["a"].figures.failures); n != 0 {
			t.Errorf("%v failures", n)
		}
		before = lacks(int(f.shelf.Size(left()[2])) + 1)
		f.pass(every)
		if now := left(); !slices.Equal(now, before) {
			t.Errorf("without room: %v, before %v", now, before)
		}
		if n := value(f.keepers["a"].figures.failures); n == 0 {
			t.Error("no failure is counted")
		}
		before = lacks(1)
		f.stop["a"]()
		f.keep = 1
		f.start("a")
		f.pass(every)
		if now := left(); len(now) != 1 || now[0].Index <= before[0].Index {
			t.Errorf("one is kept: %v, before %v", now, before)
		}
		before = lacks(1)
		f.pass(every)
		if now := left(); !slices.Equal(now, before) {
			t.Errorf("the only one was deleted before the next was there: %v, before %v", now, before)
		}
	})
}

// A Keeper says in words why there may be no backup when one is needed: what it lacks, also where another one's turn it
// is, and that there has been no good one for too long, also while the target hangs. Once all is well it says nothing.
func TestAKeeperSaysWhyThereIsNoBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		lack := atomic.Bool{}
		k, err := Open(Config{Server: "c", Every: every, Keep: 3, Target: shelfOf{f.shelf, "c"}, Source: f,
			Logger: hclog.NewNullLogger(), Wall: f.wall, Recipients: func() ([]age.Recipient, error) {
				if lack.Load() {
					return nil, errors.New("keys: no such file")
				}
				return nil, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		says := func(when string, k *Keeper, want ...string) {
			t.Helper()
			got := k.Warning()
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%s: it says %q, not %q", when, got, w)
				}
			}
			if len(want) == 0 && got != "" {
				t.Errorf("%s: it says %q", when, got)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go k.Run(ctx)
		f.pass(every)
		says("no member", k)
		f.add(Member{ID: "c", Voter: true})
		lack.Store(true)
		f.pass(time.Minute)
		says("without keys", k, "keys: no such file")
		lack.Store(false)
		f.pass(2 * time.Hour)
		says("with keys", k)
		f.shelf.fail(errors.New("the place is full"))
		f.pass(time.Hour)
		says("a failure", f.keepers["a"], "the place is full")
		if got := f.keepers["a"].Warning(); strings.Contains(got, "no good one") {
			t.Errorf("within the time: %q", got)
		}
		f.pass(3 * every)
		says("for days", f.keepers["b"], "no good one for 21h0m0s", "the place is full")
		f.shelf.fail(nil)
		f.pass(2 * time.Hour)
		says("it works again", f.keepers["a"])
		f.jump(-365 * 24 * time.Hour)
		f.pass(every)
		says("the clock was set back", f.keepers["a"])
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.members, f.shelf.hangs = []Member{{ID: "a", Voter: true, Leader: true}}, make(chan struct{})
		f.start("a")
		f.pass(2 * every)
		if got := f.keepers["a"].Warning(); got != "" {
			t.Errorf("it says %q before the time", got)
		}
		f.pass(every)
		if got := f.keepers["a"].Warning(); got != "there has been no good one for 18h0m0s" {
			t.Errorf("while the target hangs it says %q", got)
		}
		close(f.shelf.hangs)
	})
}
