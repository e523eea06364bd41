package fsm

import (
	"fmt"
	"reflect"

	"vigil/fsm/image"
	"vigil/fsm/noun"
)

// A cluster that is upgraded server by server has servers of two versions for a while. What
// a newer version adds to the log or to dumps belongs to a feature level, and nothing of a
// level is written before one record, RaiseLevel, has begun it: the leader writes it as soon
// as every member of the cluster has announced that it reads the level. It never goes back.
// Commands of the level come after it (see Level), and so may whatever the state machine does
// by itself at that level (see Image.Level). A server that meets a level which it does not
// read stops with its data untouched.

// Baseline is the feature level at which every state begins.
const Baseline = 1

// maxLevel bounds the level that a record may name.
const maxLevel = 1 << 16

// RaiseLevel begins a feature level above the present one, for good. By the leader.
type RaiseLevel struct{ Level uint32 }

// Level is the feature level that must have begun before the command may be written; for
// RaiseLevel itself the one that all members must read.
func Level(c Command) uint32 {
	if c, ok := c.(RaiseLevel); ok {
		return c.Level
	}
	return Baseline
}

// addition is what a feature level adds to dumps. Until the level begins a dump is what older
// versions write, byte by byte: servers of two versions have equal hashes of equal states and
// read each other's snapshots.
type addition struct {
	level  uint32
	types  int                  // how many of the types in dumped came before it
	fields map[reflect.Type]int // of the types with new fields: how many fields came before
}

// added are the additions above the baseline, by level. There are none yet.
var added []addition

// schema gives the types that a dump of this image names, and which of their fields it has.
func (i *Image) schema() image.Schema {
	for at, a := range added {
		if a.level <= i.meta.Level {
			continue
		}
		return image.Schema{Types: dumped[:a.types], Fields: func(t reflect.Type) int {
			for _, a := range added[at:] { // the lowest that changes the type
				if n, ok := a.fields[t]; ok {
					return n
				}
			}
			return t.NumField()
		}}
	}
	return image.Schema{Types: dumped, Fields: reflect.Type.NumField}
}

// Level is the feature level that has begun.
func (v *View) Level() uint32 { return v.meta.Level }

// Apply begins a feature level. It is refused where it does not raise.
func (c RaiseLevel) Apply(s *State) noun.Outcome {
	switch {
	case c.Level > maxLevel:
		return refuse(noun.Invalid, "level %d is out of range, at most %d is allowed", c.Level, maxLevel)
	case c.Level <= s.meta.Level:
		return refuse(noun.Conflict, "the cluster is at feature level %d already", s.meta.Level)
	}
	s.meta.Level = c.Level
	s.event("cluster.level_raised", about{}, fmt.Sprintf("every server reads feature level %d: what came with it begins", c.Level))
	return noun.Outcome{}
}
