package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"vigil/fsm"
)

// shelf is a target in memory that all servers share.
type shelf struct {
	mu    sync.Mutex
	files map[Name][]byte
	made  []string // by whom, in order
	fails error    // of everything; nil: nothing fails
	hangs chan struct{}
	space int   // bytes of the disk; 0: without end
	about int64 // of the last one that was begun
}

// of is the shelf as one server sees it.
type shelfOf struct {
	*shelf
	server string
}

func (s *shelf) List(_ context.Context, cluster string) (list []Name, err error) {
	if s.hangs != nil {
		<-s.hangs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.files {
		if n.Cluster == cluster {
			list = append(list, n)
		}
	}
	return list, s.fails
}

type shelfDraft struct {
	bytes.Buffer
	to shelfOf
}

func (s *shelf) Size(n Name) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(len(s.files[n]))
}

// used is what lies there, in bytes. The caller holds mu.
func (s *shelf) used() (n int) {
	for _, text := range s.files {
		n += len(text)
	}
	return n
}

func (s shelfOf) Create(_ context.Context, about int64) (Draft, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about = about
	if lack := s.used() + int(about) - s.space; s.space > 0 && lack > 0 {
		return nil, &FullError{About: about, Lack: uint64(lack)}
	}
	return &shelfDraft{to: s}, s.fails
}

func (d *shelfDraft) Commit(_ context.Context, n Name) error {
	d.to.mu.Lock()
	defer d.to.mu.Unlock()
	d.to.files[n] = d.Bytes()
	d.to.made = append(d.to.made, d.to.server)
	return d.to.fails
}

func (d *shelfDraft) Discard() {}

func (s *shelf) Open(_ context.Context, n Name) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return io.NopCloser(bytes.NewReader(s.files[n])), s.fails
}

func (s *shelf) Delete(_ context.Context, n Name) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, n)
	return s.fails
}

// fail lets everything fail from now on; nil: nothing.
func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// newest gives the one of the greatest index.
func (s *shelf) newest() Name {
	list, _ := s.List(context.Background(), "prod")
	ByIndex(list)
	if len(list) == 0 {
		return Name{}
	}
	return list[0]
}

func (s *shelf) break_(n Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[n] = s.files[n][:len(s.files[n])/2]
}

// fleet is three servers, of which a leads, with one shelf.
type fleet struct {
	t       *testing.T
	shelf   *shelf
	members []Member
	index   uint64
	mu      sync.Mutex
	ahead   time.Duration // of the wall clocks of all servers
	keep    int           // of servers that start
	keepFor time.Duration // likewise
	keepers map[string]*Keeper
	stop    map[string]context.CancelFunc
}

func (f *fleet) Cluster() string { return "prod" }

func (f *fleet) Members() []Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members
}

// add makes a server a member while others run.
func (f *fleet) add(m Member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(slices.Clone(f.members), m)
}

func (f *fleet) Copy(context.Context) (*fsm.Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index += 2
	return newState(f.t, f.index, secret).Copy(), nil
}

func (f *fleet) wall() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.ahead).Round(0)
}

func (f *fleet) jump(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
}

const every = 6 * time.Hour

func newFleet(t *testing.T, servers ...string) *fleet {
	f := &fleet{t: t, keep: 3, shelf: &shelf{files: map[Name][]byte{}}, keepers: map[string]*Keeper{},
		stop: map[string]context.CancelFunc{}}
	for _, id := range servers {
		f.members = append(f.members, Member{ID: id, Voter: true, Leader: id == servers[0]})
	}
	for _, id := range servers {
		f.start(id)
	}
	t.Cleanup(func() {
		for _, stop := range f.stop {
			stop()
		}
	})
	return f
}

func (f *fleet) start(id string) {
	k, err := Open(Config{Server: id, Every: every, Keep: f.keep, KeepFor: f.keepFor,
		Target: shelfOf{f.shelf, id}, Source: f, Logger: hclog.NewNullLogger(), Wall: f.wall})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	f.keepers[id], f.stop[id] = k, cancel
	go k.Run(ctx)
}

// pass lets time pass.
func (f *fleet) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (f *fleet) made() []string {
	f.shelf.mu.Lock()
	defer f.shelf.mu.Unlock()
	return slices.Clone(f.shelf.made)
}

func (f *fleet) wants(what string, made ...string) {
	f.t.Helper()
	if got := f.made(); !slices.Equal(got, made) {
		f.t.Errorf("%s: made by %v, want %v", what, got, made)
	}
}

// value is what a figure shows.
func value(m prometheus.Metric) float64 {
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		return -1
	}
	return out.GetGauge().GetValue() + out.GetCounter().GetValue()
}

// A follower makes each backup in time; the others only see that it is there.
func TestAFollowerMakesEachBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.pass(time.Second)
		f.wants("at the start", "b")
		f.pass(every - time.Minute)
		f.wants("before the time", "b")
		f.pass(10 * time.Minute)
		f.wants("one time later", "b", "b")
		f.pass(10 * every)
		if made := f.made(); len(made) < 11 || len(made) > 12 ||
			slices.ContainsFunc(made, func(s string) bool { return s != "b" }) {
			t.Errorf("in twelve times: made by %v", made)
		}
		if n := len(f.shelf.files); n != 3 {
			t.Errorf("%d backups are kept", n)
		}
		for id, k := range f.keepers {
			if got := value(k.figures.lastGood); got != float64(f.shelf.newest().Unix) {
				t.Errorf("server %s shows %v, the newest is of %v", id, got, f.shelf.newest().Unix)
			}
			if n := value(k.figures.failures); n != 0 {
				t.Errorf("server %s counts %v failures", id, n)
			}
		}
	})
}

// The next in rank takes over late, and the leader last; it is the first one when it is alone.
func TestOthersTakeOverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.pass(time.Second)
		f.stop["b"]()
		f.pass(every + 30*time.Minute)
		f.wants("the first is gone, and it is not late yet", "b")
		f.pass(30 * time.Minute)
		f.wants("the first is gone", "b", "c")
		f.stop["c"]()
		f.pass(every + time.Hour)
		f.wants("only the leader is left, and it is not late yet", "b", "c")
		f.pass(time.Hour)
		f.wants("only the leader is left", "b", "c", "a")
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		f.pass(time.Second)
		f.wants("a server alone", "a")
	})
}

// What fails is tried again, less and less often, and deletes nothing.
func TestFailuresAreTriedAgainAndDeleteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.pass(time.Second)
		f.shelf.fail(errors.New("the place is full"))
		f.pass(4 * 24 * time.Hour)
		failures := value(f.keepers["b"].figures.failures)
		if failures < 90 || failures > 130 {
			t.Errorf("%v failures in four days", failures)
		}
		if age := f.wall().Unix() - int64(value(f.keepers["b"].figures.lastGood)); age < 4*24*3600 {
			t.Errorf("the last good backup is said to be %d s old", age)
		}
		f.shelf.mu.Lock()
		f.shelf.fails, f.shelf.made = nil, nil
		kept := len(f.shelf.files)
		f.shelf.mu.Unlock()
		if kept != 1 {
			t.Errorf("%d backups are left", kept)
		}
		f.pass(2 * time.Hour)
		if made := f.made(); len(made) == 0 {
			t.Error("when the place has room again, no backup is made")
		}
	})
}

// A damaged newest backup is noticed by whoever has not read it yet, and a new one is made.
func TestDamagedBackupDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.pass(time.Second)
		f.stop["b"]()
		f.pass(time.Second)
		f.shelf.break_(f.shelf.newest())
		f.start("b") // another process
		f.pass(time.Second)
		f.wants("after the damage", "b", "b")
		if n := value(f.keepers["b"].figures.failures); n != 1 {
			t.Errorf("%v failures", n)
		}
		if len(f.shelf.files) != 2 {
			t.Error("the damaged one was deleted: nobody can look at it")
		}
	})
}

// Clocks that jump neither stop the backups, nor have them made without end, nor delete what is good.
func TestClocksMayJump(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{year, -year, 20 * year} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, "a", "b", "c")
				f.pass(2*every + time.Hour)
				before := len(f.made())
				f.jump(jump)
				f.pass(every / 2)
				if n := len(f.made()) - before; n < 1 || n > 3 {
					t.Errorf("half a time after the jump: %d backups were made", n)
				}
				if n := len(f.shelf.files); n < 3 {
					t.Errorf("%d backups are left", n)
				}
				f.pass(10 * every)
				there := len(f.made())
				if n := there - before; n < 10 || n > 16 {
					t.Errorf("in ten times after the jump: %d backups were made", n)
				}
				f.jump(-jump)
				f.pass(10 * every)
				if n := len(f.made()) - there; n < 9 || n > 16 {
					t.Errorf("in ten times after the clock was set right: %d backups were made", n)
				}
				if age := f.wall().Sub(f.shelf.newest().Time()); age < 0 || age > every+time.Hour {
					t.Errorf("the newest is %v old", age)
				}
			})
		})
	}
}

// A clock that leaps 40 days ahead takes away none of the backups of the last days, which keep_for promises: not with
// the next backup, nor with later ones, nor to make room for one.
func TestALeapOfTheClockOutdatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.members = []Member{{ID: "a", Voter: true, Leader: true}}
		f.keepFor = 5 * 24 * time.Hour
		f.start("a")
		f.pass(3 * 24 * time.Hour)
		before, _ := f.shelf.List(t.Context(), "prod")
		f.jump(40 * 24 * time.Hour)
		f.pass(24 * time.Hour)
		f.shelf.mu.Lock()
		f.shelf.space = f.shelf.used() + int(f.shelf.about) - 1
		f.shelf.mu.Unlock()
		f.pass(12 * time.Hour)
		after, _ := f.shelf.List(t.Context(), "prod")
		if len(before) < 12 || len(after) < len(before)+4 {
			t.Errorf("%d backups before, %d after", len(before), len(after))
		}
		for _, n := range before {
			if !slices.Contains(after, n) {
				t.Errorf("%s is gone", n)
			}
		}
		if n := value(f.keepers["a"].figures.failures); n == 0 {
			t.Error("no failure is counted while there is no room")
		}
		f.shelf.mu.Lock()
		f.shelf.space = 0
		f.shelf.mu.Unlock()
		f.pass(6 * 24 * time.Hour)
		after, _ = f.shelf.List(t.Context(), "prod")
		if slices.ContainsFunc(before, func(n Name) bool { return slices.Contains(after, n) }) {
			t.Errorf("of those before some are there six days later: %v", after)
		}
	})
}

// A target that hangs does not keep the server from ending.
func TestHangingTargetHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.members = []Member{{ID: "a", Voter: true, Leader: true}}
		f.shelf.hangs = make(chan struct{})
		k, err := Open(Config{Server: "a", Every: every, Keep: 3, Target: shelfOf{f.shelf, "a"}, Source: f,
			Logger: hclog.NewNullLogger(), Wall: f.wall})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		k.Run(ctx)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v", took)
		}
		close(f.shelf.hangs)
	})
}
