package agentd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/accounts"
	"vigil/agentd/disk"
	"vigil/agentd/results"
	"vigil/rpc/gen/vigilv1"
)

const day = 24 * time.Hour

// attic is a data directory with what lives have left, and a wall clock of its own.
type attic struct {
	t      *testing.T
	dir    string
	now    time.Time
	config Config
	known  map[string]*vigilv1.Agent // nil: deleted
	here   map[string]bool
	log    *lockedBuffer
	site   *site
	ages   ages
	begun  time.Time // of this boot, by the wall clock
	unset  bool      // no time service keeps that
}

func newAttic(t *testing.T) *attic {
	now := time.Now()
	a := &attic{t: t, dir: t.TempDir(), now: now, begun: now.Add(-100 * day),
		known: map[string]*vigilv1.Agent{}, here: map[string]bool{},
		log: &lockedBuffer{}}
	data, err := disk.Open(a.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	register, err := accounts.Open(a.dir, accounts.Default())
	if err != nil {
		t.Fatal(err)
	}
	figures, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.config = Config{Name: "h1", Seams: Seams{Wall: func() time.Time { return a.now },
		Disk: func() (Room, error) { return Room{}, nil }}} // it is asked only while it is full
	a.config.Conn = census{known: func(agent string) (*vigilv1.Agent, error) {
		if a.known[agent] == nil {
			return nil, no("not_found")
		}
		return a.known[agent], nil
	}}
	a.site = &site{config: &a.config, log: hclog.New(&hclog.LoggerOptions{Output: a.log}), data: data,
		accounts: register, metrics: figures}
	return a
}

// put writes a file of so many bytes that was used last so long ago.
func (a *attic) put(path string, bytes int, ago time.Duration) {
	a.t.Helper()
	path = filepath.Join(a.dir, path)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, make([]byte, bytes), 0o600)
	}
	if err == nil {
		err = os.Chtimes(path, a.now.Add(-ago), a.now.Add(-ago))
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// age has a file or folder be used last so long ago.
func (a *attic) age(path string, ago time.Duration) {
	a.t.Helper()
	if err := os.Chtimes(filepath.Join(a.dir, path), a.now.Add(-ago), a.now.Add(-ago)); err != nil {
		a.t.Fatal(err)
	}
}

// begins has a life be the newest one of room/agent since so long ago.
func (a *attic) begins(agent string, id uint32, inc uint64, ago time.Duration) {
	a.t.Helper()
	a.site.data.Begins("demo", agent, disk.Life{Agent: id, Incarnation: inc})
	a.age("newest/demo/"+agent, ago)
}

// sweep looks once and gives what is reported.
func (a *attic) sweep(full bool) *vigilv1.HostKept {
	a.t.Helper()
	s := &sweep{site: a.site, ctx: a.t.Context(),
		letters: &results.Letters{Dir: a.site.data.Letters()}, here: a.here, full: full,
		doubtful: a.ages.doubted(a.now.Sub(a.begun), a.now, func() bool { return !a.unset })}
	return s.run()
}

// left gives the files that there are, but for those of the directory's own.
func (a *attic) left() []string {
	a.t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(a.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(a.dir, path)
			if strings.Contains(name, "/") && !strings.HasPrefix(name, "newest/") {
				found[name] = true
			}
		}
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}

func (a *attic) want(when string, files ...string) {
	a.t.Helper()
	slices.Sort(files)
	if got := a.left(); !slices.Equal(got, files) {
		a.t.Fatalf("%s: there are %q, want %q\n%s", when, got, files, a.log.String())
	}
}

// What earlier lives of an agent have left goes by age; what its last life has written stays for ever, whether it
// runs or not, and so does its folder.
func TestEndedLivesAreKeptForAWhile(t *testing.T) {
	for _, runs := range []bool{true, false} {
		a := newAttic(t)
		a.config.Keep.Ended = 30 * day
		a.known["demo/a"], a.here["demo/a"] = &vigilv1.Agent{Id: 1, IncarnationRaw: 3, Host: "h1"}, runs
		a.put("logs/demo/a.log", 10, 5*day)
		a.put("logs/demo/a.log.1", 10, 9*day) // of the last life
		a.put("logs/demo/a.log.2", 10, 20*day)
		a.put("logs/demo/a.log.3", 10, 31*day)
		a.put("dead-letters/1-2-7-1.json", 10, 20*day)
		a.put("dead-letters/1-3-8-1.json", 10, 5*day)
		a.put("work/demo/a/file", 10, 400*day)
		a.put("logs/demo/unknown.log.1", 10, 400*day) // nobody knows what its newest life was
		a.known["demo/unknown"] = &vigilv1.Agent{Id: 2, IncarnationRaw: 3, Host: "h1"}
		a.begins("a", 1, 3, 10*day)
		stays := []string{"logs/demo/a.log", "logs/demo/a.log.1", "dead-letters/1-3-8-1.json", "work/demo/a/file",
			"logs/demo/unknown.log.1"}

		kept := a.sweep(false)
		a.want("at first", append(slices.Clone(stays), "logs/demo/a.log.2", "dead-letters/1-2-7-1.json")...)
		if ago := a.now.Sub(kept.GetOldest().AsTime()).Round(time.Hour); ago != 20*day || kept.GetRemovable() == 0 ||
			kept.GetBytes() <= kept.GetRemovable() {
			t.Errorf("reported %v, the oldest of %s ago", kept, ago)
		}
		a.now = a.now.Add(10*day - time.Hour)
		a.sweep(false)
		a.want("just before 30 days", append(slices.Clone(stays), "logs/demo/a.log.2", "dead-letters/1-2-7-1.json")...)
		a.now = a.now.Add(time.Hour)
		a.sweep(false)
		a.want("after 30 days", stays...)
		a.now = a.now.Add(10 * 365 * day)
		if kept := a.sweep(true); kept.GetRemovable() != 0 || kept.GetOldest() != nil {
			t.Errorf("after years %v may go", kept)
		}
		a.want("after years, on a full disk", stays...)
	}
}

// What an agent has left that lives elsewhere now goes only where that was asked for, and never by anything but a
// clear word of the cluster.
func TestMovedAgentsAreKeptUnlessAsked(t *testing.T) {
	elsewhere := func() *vigilv1.Agent { return &vigilv1.Agent{Id: 1, IncarnationRaw: 4, Host: "h2", Process: "running"} }
	for name, tt := range map[string]struct {
		change func(a *attic, x *vigilv1.Agent)
		goes   bool
	}{
		"elsewhere":           {func(*attic, *vigilv1.Agent) {}, true},
		"for ever by default": {func(a *attic, _ *vigilv1.Agent) { a.config.Keep.Moved = 0 }, false},
		"runs here":           {func(a *attic, _ *vigilv1.Agent) { a.here["demo/a"] = true }, false},
		"its life is ours":    {func(_ *attic, x *vigilv1.Agent) { x.IncarnationRaw = 3 }, false},
		"on this host":        {func(_ *attic, x *vigilv1.Agent) { x.Host = "h1" }, false},
		"nowhere":             {func(_ *attic, x *vigilv1.Agent) { x.Host = "" }, false},
		"only ordered":        {func(_ *attic, x *vigilv1.Agent) { x.Process = "ordered" }, false},
		"made anew":           {func(_ *attic, x *vigilv1.Agent) { x.Id = 2 }, false},
		"used since":          {func(a *attic, _ *vigilv1.Agent) { a.age("work/demo/a", 89*day) }, false},
	} {
		a := newAttic(t)
		a.config.Keep.Moved = 90 * day
		a.put("logs/demo/a.log", 10, 91*day)
		a.put("work/demo/a/file", 10, 91*day)
		a.put("homes/demo/a/.login", 10, 91*day)
		a.put("files/demo/a/result.txt", 10, 91*day)
		a.put("dead-letters/1-3-8-1.json", 10, 91*day)
		a.age("work/demo/a", 91*day)
		a.age("homes/demo/a", 91*day)
		a.age("files/demo/a", 91*day)
		a.begins("a", 1, 3, 95*day)
		all := a.left()
		a.known["demo/a"] = elsewhere()
		tt.change(a, a.known["demo/a"])
		a.sweep(false)
		if tt.goes {
			a.want(name)
			continue
		}
		a.want(name, all...)
	}
}

// With the last agent of a room go the folders of the room, so that a host with a room for each piece of work does
// not run out of inodes.
func TestFoldersOfEmptyRoomsGo(t *testing.T) {
	a := newAttic(t)
	a.config.Keep.Deleted = day
	leave := func(agent string) {
		a.put("logs/demo/"+agent+".log", 10, 9*day)
		for _, folder := range []string{"work", "homes", "files"} {
			a.put(folder+"/demo/"+agent+"/file", 10, 9*day)
			a.age(folder+"/demo/"+agent, 9*day)
		}
		a.begins(agent, 1, 3, 9*day)
	}
	rooms := func() (there int) {
		for _, folder := range []string{"logs", "work", "homes", "files", "newest"} {
			if _, err := os.Lstat(filepath.Join(a.dir, folder, "demo")); err == nil {
				there++
			}
		}
		return there
	}
	leave("a")
	leave("b")
	a.known["demo/b"] = &vigilv1.Agent{Id: 1, IncarnationRaw: 3, Host: "h1"}
	a.sweep(false)
	a.sweep(false) // which meets what the first one has emptied
	if a.want("with a second agent", "logs/demo/b.log", "work/demo/b/file", "homes/demo/b/file",
		"files/demo/b/file"); rooms() != 5 {
		t.Errorf("%d folders of a room that has an agent are there, want 5", rooms())
	}
	delete(a.known, "demo/b")
	a.sweep(false)
	a.sweep(false)
	if a.want("without an agent"); rooms() != 0 {
		t.Errorf("%d folders of an empty room are there, want none", rooms())
	}
}

// A start between the look and the removal keeps everything.
func TestAStartSavesWhatIsLeft(t *testing.T) {
	a := newAttic(t)
	a.config.Keep.Deleted = day
	a.put("work/demo/a/file", 10, 9*day)
	a.age("work/demo/a", 9*day)
	a.config.Conn = census{known: func(string) (*vigilv1.Agent, error) {
		a.site.accounts.Starts("demo/a") // made anew in this moment
		return nil, no("not_found")
	}}
	a.sweep(true)
	a.want("after the look", "work/demo/a/file")
}

// Beyond the bound of bytes the oldest goes first, and as on a full disk no more than is needed; what is kept for
// ever goes for neither.
func TestTheOldestGoesFirst(t *testing.T) {
	const size = 1 << 20
	fill := func() *attic {
		a := newAttic(t)
		a.config.Keep = Retention{Ended: 300 * day, Deleted: 300 * day}
		for i := range 4 {
			name := fmt.Sprintf("a%d", i)
			a.known["demo/"+name] = &vigilv1.Agent{Id: uint32(i + 1), IncarnationRaw: 3, Host: "h1"}
			a.put("logs/demo/"+name+".log", size, day)
			a.put("logs/demo/"+name+".log.1", size, time.Duration(20+i)*day)
			a.begins(name, uint32(i+1), 3, 2*day)
		}
		a.put("work/demo/gone/file", size, 22*day+time.Hour)
		a.age("work/demo/gone", 22*day+time.Hour)
		return a
	}
	current := []string{"logs/demo/a0.log", "logs/demo/a1.log", "logs/demo/a2.log", "logs/demo/a3.log"}
	first := append(slices.Clone(current), "logs/demo/a0.log.1", "logs/demo/a1.log.1", "logs/demo/a2.log.1")

	a := fill()
	a.config.Keep.Bytes = 3*size + size/2
	a.sweep(false)
	a.want("with a bound", first...)
	a.config.Keep.Bytes = 1
	a.sweep(false)
	a.want("with a bound that nothing fits", current...)

	a = fill()
	a.config.MinFreeDisk = 4 * size
	a.config.Disk = func() (Room, error) { return Room{Bytes: uint64(12-len(a.left())) * size}, nil }
	if a.sweep(false); len(a.left()) != 9 {
		t.Fatalf("a disk that is not full: %q", a.left())
	}
	a.sweep(true) // 3 MiB are free, 5 are wanted
	a.want("on a full disk", first...)
	a.config.Disk = func() (Room, error) { return Room{}, nil }
	a.sweep(true)
	a.want("on a disk that stays full", current...)
	a.sweep(true)
	a.want("on a disk that stays full, again", current...)

	a = fill()
	files := uint64(0)
	a.config.Disk = func() (Room, error) { files += 700; return Room{Bytes: 1 << 40, Inodes: &files}, nil }
	a.sweep(true) // 700, then 1400: enough
	a.want("without inodes", append(first, "work/demo/gone/file")...)
}

// A wall clock that jumps ahead removes nothing by age for a day, so that somebody can put it right; nor does one that
// nobody has set since the boot. What goes for its size, or for the disk, goes by order only.
func TestNothingGoesByAClockThatJumped(t *testing.T) {
	a := newAttic(t)
	a.config.Keep = Retention{Deleted: 30 * day, Ended: 30 * day, Moved: 30 * day}
	pass := func(wall, boot time.Duration) { a.now, a.begun = a.now.Add(wall), a.begun.Add(wall-boot) }
	a.put("logs/demo/gone.log", 10, 2*day)
	a.begins("gone", 1, 1, 2*day)
	a.age("logs/demo", 2*day)
	a.sweep(false)
	a.want("young", "logs/demo/gone.log")
	pass(60*day, time.Hour)
	a.sweep(false)
	pass(22*time.Hour, 22*time.Hour)
	a.sweep(false)
	a.want("less than a day after the jump", "logs/demo/gone.log")
	pass(-60*day, time.Hour) // put right, which is a jump again
	a.sweep(false)
	pass(2*day, 2*day)
	a.sweep(false)
	a.want("the clock is right", "logs/demo/gone.log")
	pass(27*day, 27*day) // as asleep: both clocks go on
	a.sweep(false)
	a.want("old")

	a.put("logs/demo/gone.log", 10, 40*day)
	a.begins("gone", 1, 1, 40*day)
	a.age("logs/demo", 40*day)
	a.ages, a.begun, a.unset = ages{}, a.now.Add(-time.Minute), true
	a.sweep(false)
	a.want("nobody has set the clock since the boot", "logs/demo/gone.log")
	a.ages, a.unset = ages{}, false
	a.sweep(false)
	a.want("a time service has")
}
