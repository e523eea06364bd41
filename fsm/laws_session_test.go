package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// sessionFloor is the least session_ttl that users may set. Random logs are too short for
// it: they set less.
var sessionFloor = func() (floor int64) {
	for i := range noun.SettingTable {
		if d := &noun.SettingTable[i]; d.Name == "session_ttl" {
			floor, d.Min = d.Min, 10_000
		}
	}
	return floor
}()

// L8: no session ends while a client may still repeat one of its writes, or the write would be
// done again under another number. Not even for a client that has waited for long.
func TestF05SessionsOutliveRepetitions(t *testing.T) {
	if floor := time.Duration(sessionFloor) * time.Millisecond; floor <= noun.RepeatLimit ||
		floor != noun.MinSessionTTL {
		t.Errorf("session_ttl may be %s, clients repeat for %s", floor, noun.RepeatLimit)
	}
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "session_ttl", Value: noun.MinSessionTTL.String()}}})
	d.room("r", noun.RoleSpec{Name: "a"})
	ss := d.must(OpenSession{Client: "c"}).Session
	create := Request{Session: ss, Seq: 1, Cmd: CreateTask{Room: "r", Role: "a", Title: "t"}}
	first := d.apply(d.entry(create)).Outcomes[0]
	d.clock = d.clock.Add(noun.RepeatLimit) // the answer was lost, and this is the last try
	if again := d.apply(d.entry(create)).Outcomes[0]; again.Code != noun.OK || again.Task != first.Task ||
		len(d.s.SessionTable.Get(ss).Answers) != 1 {
		t.Errorf("first %+v, repeated %+v", first, again)
	}
	if d.s.Task(first.Task+1) != nil {
		t.Error("one write has made two tasks")
	}
}

// What an unknown session is told names the time that is set.
func TestF23UnknownSessionNamesItsTTL(t *testing.T) {
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "session_ttl", Value: "25m"}}})
	out := d.apply(d.entry(Request{Session: 99, Seq: 1, Cmd: PutSettings{}})).Outcomes[0]
	if out.Code != noun.UnknownSession || !strings.Contains(out.Detail, "25m0s") {
		t.Errorf("%+v", out)
	}
}
