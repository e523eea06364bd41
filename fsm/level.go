package fsm

import (
	"fmt"
	"reflect"
	"slices"
)

// A cluster that is upgraded server by server has servers of two versions for a
// while. They must read each other's snapshots and have equal hashes of equal states,
// or the new ones would count as diverged. So what came with a feature level is
// written only by an image that uses it, and it can be used only when every server
// reads that level (see Level): until then a dump is what older versions write, byte
// by byte.
//
// From level 3 on there is one record that begins a level, RaiseLevel, which the leader
// writes as soon as every server reads it. Commands of the level come after it, and so may
// whatever the state machine does by itself at that level.

// MaxLevel is the highest feature level that this version can begin.
const MaxLevel = 3

// RaiseLevel begins a feature level (3 or more), for good. By the leader, once a level. It
// is written at that feature level.
type RaiseLevel struct{ Level uint32 }

func (RaiseLevel) command() {}

// DeclareLimitName is the first of the settings that came with feature level 2.
const DeclareLimitName = "declare_limit"

// Level is the feature level that all servers must read before the command may be
// written.
func Level(c Command) uint32 {
	switch c := c.(type) {
	case RaiseLevel:
		return c.Level
	case LeaderUnreached:
		return 1
	case ReportScreen, ReportTerminals:
		return 3
	case Declare, NoteNudge, SendMail, ReadMail, AckMail, RaiseEpoch: // RaiseEpoch is in no log, but old servers would confirm lives in the hold
		return 2
	case BeginEscalations, AckEscalation, CloseEscalation, NoteNotice:
		return 2
	case WatchRooms, WarnRoom, CancelIdleRoom, ReopenRoom, SetRoomWatch, StepLadder, NoteRung:
		return 2
	case ReportPatrol, LookAtOverseer, HandOver, ProdOverseer, NoteProd:
		return 3
	case CreateTask:
		if c.Expect != 0 {
			return 3
		}
	case ProgressTask:
		if c.Percent != 0 || c.Expect != 0 {
			return 3
		}
	case ApplyRoom:
		if slices.ContainsFunc(c.Roles, func(r RoleSpec) bool { return r.Expect != 0 || len(r.Overseer) > 0 }) {
			return 3
		}
		if len(c.Watch) > 0 || slices.ContainsFunc(c.Roles, func(r RoleSpec) bool { return r.HealthEvery != 0 || r.HealthMissed != 0 || r.Ladder != LadderCareful }) {
			return 2
		}
	case PutSettings:
		need := uint32(0)
		for i := range settingTable {
			if d := &settingTable[i]; d.level > need && slices.ContainsFunc(c.Values, func(kv KV) bool { return kv.Key == d.name }) {
				need = d.level
			}
		}
		return need
	}
	return 0
}

// grown tells for the types that have fields of a level how many came before it. A level
// that is in use (see Image.level) has all fields of the levels below it.
var grown = map[uint32]map[reflect.Type]int{
	2: {
		reflect.TypeFor[meta]():     fieldsBefore[meta]("LastMail"),
		reflect.TypeFor[Agent]():    fieldsBefore[Agent]("Declared"),
		reflect.TypeFor[Notes]():    fieldsBefore[Notes]("MailAt"),
		reflect.TypeFor[Outcome]():  fieldsBefore[Outcome]("Mail"),
		reflect.TypeFor[RoleSpec](): fieldsBefore[RoleSpec]("HealthEvery"),
		reflect.TypeFor[Settings](): fieldsBefore[Settings]("DeclareLimit"),
		reflect.TypeFor[Room]():     fieldsBefore[Room]("Watch"),
	},
	3: {
		reflect.TypeFor[meta]():     fieldsBefore[meta]("Level"),
		reflect.TypeFor[Task]():     fieldsBefore[Task]("Plan"),
		reflect.TypeFor[RoleSpec](): min(fieldsBefore[RoleSpec]("Expect"), fieldsBefore[RoleSpec]("Overseer")),
		reflect.TypeFor[Room]():     fieldsBefore[Room]("Asked"),
		reflect.TypeFor[Host]():     fieldsBefore[Host]("Away"),
		reflect.TypeFor[Notes]():    fieldsBefore[Notes]("Screen"),
		reflect.TypeFor[Settings](): fieldsBefore[Settings]("Prompt"),

		reflect.TypeFor[EscalationSettings](): fieldsBefore[EscalationSettings]("Remind"),
	},
}

// typesBefore tells how many types a dump names that does not use a level.
var typesBefore = map[uint32]int{
	2: slices.Index(dumped, reflect.TypeFor[Declaration]()),
	3: slices.Index(dumped, reflect.TypeFor[Plan]()),
}

func fieldsBefore[T any](name string) int {
	f, ok := reflect.TypeFor[T]().FieldByName(name)
	if !ok {
		panic("fsm: there is no field " + name)
	}
	return f.Index[0]
}

// schema gives the types that a dump of this image names, and the planner that knows
// which of their fields it has.
func (i *Image) schema() ([]reflect.Type, planner) {
	types, level := dumped, i.level()
	if n, ok := typesBefore[level+1]; ok {
		types = dumped[:n]
	}
	return types, planner{fields: func(t reflect.Type) int {
		for l := level + 1; grown[l] != nil; l++ {
			if n, ok := grown[l][t]; ok {
				return n
			}
		}
		return t.NumField()
	}}
}

// level is the feature level that the image uses: 1, 2 or what RaiseLevel has raised it to.
func (i *Image) level() uint32 {
	switch {
	case i.meta.Level != 0:
		return i.meta.Level
	case i.usesLevel2():
		return 2
	}
	return 1
}

// Level is what RaiseLevel has raised the cluster to; 0: nothing above feature level 2.
func (i *Image) Level() uint32 { return i.meta.Level }

// raiseLevel begins a feature level. It is refused where it does not raise.
func (s *State) raiseLevel(c *RaiseLevel) Outcome {
	switch {
	case c.Level < 3 || c.Level > MaxLevel:
		return refuse(Invalid, "level %d is none that can be raised to: 3 to %d are", c.Level, MaxLevel)
	case c.Level <= s.meta.Level:
		return refuse(Conflict, "the cluster is at feature level %d already", s.meta.Level)
	}
	s.meta.Level = c.Level
	s.rearmReminders()
	s.event("cluster.level_raised", about{}, fmt.Sprintf("every server reads feature level %d: what came with it begins", c.Level))
	return Outcome{}
}

func (i *Image) usesLevel2() bool {
	if i.meta.LastMail != 0 || i.meta.Watchdog.On || i.meta.Escalations.On || i.meta.Ladder.In != 0 {
		return true
	}
	defaults := DefaultSettings()
	for at := range settingTable {
		if d := &settingTable[at]; d.level == 2 && d.show(&i.meta.Settings) != d.show(&defaults) {
			return true
		}
	}
	for _, rm := range i.rooms.from(0) {
		if rm.Watch != (RoomWatch{}) {
			return true
		}
	}
	for _, r := range i.roles.from(0) {
		if r.Spec.HealthEvery != 0 || r.Spec.HealthMissed != 0 || r.Spec.Ladder != LadderCareful {
			return true
		}
	}
	for _, a := range i.agents.from(0) {
		if a.Declared != nil {
			return true
		}
	}
	return false
}
