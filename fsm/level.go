package fsm

import (
	"reflect"
	"slices"
)

// A cluster that is upgraded server by server has servers of two versions for a
// while. They must read each other's snapshots and have equal hashes of equal states,
// or the new ones would count as diverged. So what came with a feature level is
// written only by an image that uses it, and it can be used only when every server
// reads that level (see Level): until then a dump is what older versions write, byte
// by byte.

// DeclareLimitName is the first of the settings that came with feature level 2.
const DeclareLimitName = "declare_limit"

// Level is the feature level that all servers must read before the command may be
// written.
func Level(c Command) uint32 {
	switch c := c.(type) {
	case LeaderUnreached:
		return 1
	case Declare, NoteNudge, SendMail, ReadMail, AckMail, RaiseEpoch: // RaiseEpoch is in no log, but old servers would confirm lives in the hold
		return 2
	case BeginEscalations, AckEscalation, CloseEscalation, NoteNotice:
		return 2
	case WatchRooms, WarnRoom, CancelIdleRoom, ReopenRoom, SetRoomWatch, StepLadder, NoteRung:
		return 2
	case ApplyRoom:
		if len(c.Watch) > 0 || slices.ContainsFunc(c.Roles, func(r RoleSpec) bool { return r.HealthEvery != 0 || r.HealthMissed != 0 || r.Ladder != LadderCareful }) {
			return 2
		}
	case PutSettings:
		for i := range settingTable {
			if d := &settingTable[i]; d.level > 0 && slices.ContainsFunc(c.Values, func(kv KV) bool { return kv.Key == d.name }) {
				return d.level
			}
		}
	}
	return 0
}

// level2 tells for the types that have fields of level 2 how many fields came before.
var level2 = map[reflect.Type]int{
	reflect.TypeFor[meta]():     fieldsBefore[meta]("LastMail"),
	reflect.TypeFor[Agent]():    fieldsBefore[Agent]("Declared"),
	reflect.TypeFor[Notes]():    fieldsBefore[Notes]("MailAt"),
	reflect.TypeFor[Outcome]():  fieldsBefore[Outcome]("Mail"),
	reflect.TypeFor[RoleSpec](): fieldsBefore[RoleSpec]("HealthEvery"),
	reflect.TypeFor[Settings](): fieldsBefore[Settings]("DeclareLimit"),
	reflect.TypeFor[Room]():     fieldsBefore[Room]("Watch"),
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
	all := reflect.Type.NumField
	if i.usesLevel2() {
		return dumped, planner{fields: all}
	}
	until := slices.Index(dumped, reflect.TypeFor[Declaration]())
	return dumped[:until], planner{fields: func(t reflect.Type) int {
		if n, ok := level2[t]; ok {
			return n
		}
		return all(t)
	}}
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
