package fsm

import (
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// testLevel is a feature level above those that there are.
const testLevel = core.Newest + 1

// L12: until a level begins, dumps and hashes are those of servers that do not know it, and
// each side reads the other's dumps; then they have what the level adds, for good.
func TestL12LevelIsInvisibleUntilItBegins(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	d.must(CreateTask{Room: "r", Role: "a", Title: "t", Expect: time.Hour})
	d.s.State.TaskTable.Mut(1).NoteFailure("what only newer versions note", 1)
	all := added
	t.Cleanup(func() { added = all })
	added = nil
	full := dump(t, d.s.Copy())
	added = all
	before := dump(t, d.s.Copy())
	if len(before) >= len(full) {
		t.Errorf("a dump before the level has %d bytes, one with all of it %d", len(before), len(full))
	}
	if got := reload(t, d.s); got.Task(1).Retry != nil || got.Task(1).Title != "t" ||
		got.Task(1).Planned().Expect != time.Hour ||
		got.Settings().Retry != noun.DefaultSettings().Retry || got.Level() != Baseline {
		t.Errorf("loaded %+v at level %d", got.Task(1), got.Level())
	}
	d.must(RaiseLevel{Level: core.LevelRetry})
	if got := reload(t, d.s); got.Level() != core.LevelRetry || got.Task(1).Retried().Row != 1 ||
		got.Hash() != d.s.Hash() {
		t.Errorf("loaded %+v at level %d", got.Task(1), got.Level())
	}
	added = nil
	if got := reload(t, d.s); got.Hash() != d.s.Hash() {
		t.Error("the level has begun, and a dump lacks what it adds")
	}
}

// L12: a command that carries a field which came with a level needs that level, so no server that
// does not know the field meets it. Which fields those are is what added says of dumps.
func TestL12NewFieldsNeedTheirLevel(t *testing.T) {
	seen := 0
	need := func(a addition, of reflect.Type, command func(reflect.Value) Command) {
		first, ok := a.fields[of]
		if !ok {
			return
		}
		for i := first; i < of.NumField(); i++ {
			v := reflect.New(of).Elem()
			switch f := v.Field(i); {
			case f.CanInt():
				f.SetInt(1)
			case f.CanUint():
				f.SetUint(1)
			case f.Kind() == reflect.Bool:
				f.SetBool(true)
			case f.Kind() == reflect.String:
				f.SetString("x")
			case f.Kind() == reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			default:
				t.Fatalf("%s.%s is of a kind that this test cannot set", of.Name(), of.Field(i).Name)
			}
			seen++
			if c := command(v); Level(c) < a.level {
				t.Errorf("%T with %s.%s needs level %d, want %d: name the field in Level, fsm/core/level.go",
					c, of.Name(), of.Field(i).Name, Level(c), a.level)
			}
		}
	}
	for _, a := range added {
		need(a, reflect.TypeFor[noun.RoleSpec](), func(v reflect.Value) Command {
			return ApplyRoom{Roles: []noun.RoleSpec{v.Interface().(noun.RoleSpec)}}
		})
		need(a, reflect.TypeFor[noun.RoomWatch](), func(v reflect.Value) Command {
			return ApplyRoom{Watch: []noun.RoomWatch{v.Interface().(noun.RoomWatch)}}
		})
		need(a, reflect.TypeFor[noun.RoomWatch](), func(v reflect.Value) Command {
			return SetRoomWatch{RoomWatch: v.Interface().(noun.RoomWatch)}
		})
	}
	if seen == 0 {
		t.Error("no field came with a level")
	}
}

// L12: at the baseline a dump has the types and fields that 0.1 wrote and no more, so a server of 0.1
// reads it. The file is what 0.1 wrote, and never changes.
func TestL12BaselineDumpsAreThoseOfTheFirstVersion(t *testing.T) {
	text, err := os.ReadFile("testdata/schema.0.1.hex")
	if err != nil {
		t.Fatal(err)
	}
	p := dump(t, New().Copy())
	at := blocks(p)
	if now := hex.EncodeToString(p[at[0]:at[1]]); now != strings.TrimSpace(string(text)) {
		t.Errorf("types or fields differ from those of 0.1: name what is new in added, fsm/dump.go\n%s\n%s", text, now)
	}
}

// A level begins once and never goes back.
func TestL12LevelsOnlyRise(t *testing.T) {
	d := newDrive(t)
	if d.s.Level() != Baseline {
		t.Fatalf("a new state is at level %d", d.s.Level())
	}
	d.want(noun.Conflict, RaiseLevel{Level: Baseline})
	d.want(noun.Invalid, RaiseLevel{Level: core.MaxLevel + 1})
	if d.events("cluster.level_raised") != 0 {
		t.Error("a refused record has an event")
	}
	d.must(RaiseLevel{Level: testLevel + 3})
	d.want(noun.Conflict, RaiseLevel{Level: testLevel})
	d.want(noun.Conflict, RaiseLevel{Level: testLevel + 3})
	if d.s.Level() != testLevel+3 || d.events("cluster.level_raised") != 1 {
		t.Errorf("level %d, %d events", d.s.Level(), d.events("cluster.level_raised"))
	}
	for _, c := range []Command{Declare{}, SendMail{}, ReportPatrol{}, RaiseEpoch{},
		PutSettings{Values: []noun.KV{{Key: "ladder_nudge", Value: "1h"}}}} {
		if Level(c) != Baseline {
			t.Errorf("%T needs level %d", c, Level(c))
		}
	}
	for _, c := range []Command{CreateTask{After: 1}, FailTask{After: 1},
		ApplyRoom{Roles: []noun.RoleSpec{{RetryMost: 1}}},
		PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "0"}}},
		PutSettings{Values: []noun.KV{{Key: "watchdog_untaken", Value: "cancel"}}},
		ApplyRoom{Watch: []noun.RoomWatch{{Untaken: noun.UntakenWarn}}},
		SetRoomWatch{RoomWatch: noun.RoomWatch{Untaken: noun.UntakenWarn}},
		SetAgent{Stop: true, For: 1}, SetPause{Pause: true, For: 1}, DrainHost{For: 1}} {
		if Level(c) != core.LevelRetry {
			t.Errorf("%T needs level %d", c, Level(c))
		}
	}
	if Level(RaiseLevel{Level: testLevel}) != testLevel {
		t.Error("the record that begins a level does not need it")
	}
	var newer error = ErrNewer // a dump of a build that knows more is told apart from a damaged one
	if errors.Is(newer, ErrDamaged) {
		t.Error("a newer dump counts as damaged")
	}
}

// Whoever loses a task gets the whole pending limit for the next one, although that has
// waited for longer.
func TestTaskTakenAwayMakesNobodyDeafAtOnce(t *testing.T) {
	const limit = 5 * time.Minute
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a", TTL: 4 * time.Hour, PendingLimit: limit})
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"}).Task
	d.must(CreateTask{Room: "r", Role: "a", Title: "waits", By: "x"})
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(limit + time.Minute)
	d.must(CancelTask{Task: task, By: "ann"})
	if g := d.s.Signals(d.agent("r/a").ID, true); g.Unheeding() {
		t.Errorf("a task has waited for %s, and the agent is deaf at once", g.Waiting)
	}
	d.jump(limit + time.Second)
	if g := d.s.Signals(d.agent("r/a").ID, true); !g.Unheeding() {
		t.Errorf("after the limit a task has waited for %s, and the agent is not deaf", g.Waiting)
	}
}

// What belongs to overseers survives a dump.
func TestL12OverseersSurviveADump(t *testing.T) {
	x := overseerRoom(t, true)
	x.patrol()
	x.ask()
	if got := reload(t, x.s); got.Hash() != x.s.Hash() ||
		*got.AgentByName(watchName).Notes().Chain != x.chain() || got.Check() != nil ||
		got.RoleByName("r", "deacon").Spec.Overseer[0] != x.s.RoleByName("r", "deacon").Spec.Overseer[0] {
		t.Errorf("%+v is loaded as %+v: %v", x.chain(), *got.AgentByName(watchName).Notes().Chain, got.Check())
	}
}

// L12: a setting that came with a level does not exist before: servers that do not know its name have put it
// into the log and refused it, and whoever applies their log later gives the same answer.
func TestL12NewSettingsDoNotExistBeforeTheirLevel(t *testing.T) {
	d := newDrive(t)
	seen, defaults := 0, noun.DefaultSettings()
	for i := range noun.SettingTable {
		set := &noun.SettingTable[i]
		put := PutSettings{Values: []noun.KV{{Key: "ttl", Value: "50s"}, {Key: set.Name, Value: set.Show(&defaults)}}}
		if core.Level(put) == Baseline {
			continue
		}
		seen++
		last := d.s.LastEvent()
		out := d.do(put)
		if out.Code != noun.Invalid || !strings.Contains(out.Detail, "no setting") || d.s.LastEvent() != last ||
			d.s.Settings().TTL == 50*time.Second {
			t.Errorf("%s before its level: %+v", set.Name, out)
		}
	}
	if seen < 8 {
		t.Errorf("only %d settings came with a level", seen)
	}
	d.must(RaiseLevel{Level: core.Newest})
	d.must(PutSettings{Values: []noun.KV{{Key: "retry_first", Value: "2s"}}})
}
