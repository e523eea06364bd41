package fsm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// by is a request that somebody has made.
func by(who string, c Command) Request {
	return Request{Cmd: c, Audit: []AuditNote{{Who: who, Method: "Fleet/SetPause", Room: "web", Source: "10.0.0.9:4711",
		Digest: "00ff"}}}
}

// audit gives what the audit says: who, by number.
func (d *drive) audit() (list []string) {
	for a := range d.s.Audit(0) {
		list = append(list, fmt.Sprint(a.Seq, " ", a.Who))
	}
	return list
}

func (d *drive) wantAudit(want ...string) {
	d.t.Helper()
	if got := d.audit(); !reflect.DeepEqual(got, want) {
		d.t.Errorf("the audit says %q, want %q", got, want)
	}
}

// What a person has done is in the audit, with the entry of the log in which it was done. What was
// refused is not, and what is repeated is there once.
func TestAuditHasWhatWasDone(t *testing.T) {
	d := trusting(t)
	session := d.must(OpenSession{Client: "test"}).Session
	pause := by("user/anna", SetPause{Pause: true, By: "user/anna"})
	pause.Session, pause.Seq = session, 1
	d.jump(time.Minute)
	for range 2 {
		if out := d.apply(d.entry(pause)).Outcomes[0]; out.Code != noun.OK {
			t.Fatal(out.Detail)
		}
	}
	if out := d.apply(d.entry(by("user/eve", RemoveUser{Name: "nobody"}))).Outcomes[0]; out.Code != noun.NotFound {
		t.Fatalf("%+v", out)
	}
	d.must(SetPause{Pause: false})
	d.apply(d.entry(by("token/7", NoteAudit{})))
	d.wantAudit("1 user/anna", "2 token/7")
	for a := range d.s.Audit(0) {
		want := noun.Audit{Seq: 1, Index: d.index - 4, At: d.clock, Wall: noun.Wall(d.index - 4), Who: "user/anna",
			Method: "Fleet/SetPause", Room: "web", Source: "10.0.0.9:4711", Digest: "00ff"}
		if *a != want {
			t.Errorf("%+v, want %+v", *a, want)
		}
		break
	}
	if again := reload(t, d.s); again.Hash() != d.s.Hash() || again.LastAudit() != 2 || again.Check() != nil {
		t.Errorf("a dump changes the audit: %v", again.Check())
	}
}

// A note is written only where every server reads it, and below that level it leaves nothing.
func TestL12AuditNeedsItsLevel(t *testing.T) {
	d := newDrive(t)
	r := by("user/anna", SetPause{Pause: true})
	if LevelOf(&r) != core.LevelRetry || Level(NoteAudit{}) != core.LevelRetry ||
		LevelOf(&Request{Cmd: r.Cmd}) != Baseline {
		t.Error("requests with a note, and those without, need another level")
	}
	d.apply(d.entry(r))
	d.wantAudit()
}

// L11: the audit is bounded in number and in bytes, whatever people do; events go first.
func TestL11AuditIsBounded(t *testing.T) {
	d := trusting(t)
	long := by(strings.Repeat("ü", 1000), NoteAudit{})
	n := &long.Audit[0]
	n.Method, n.Room, n.Source, n.Digest = n.Who, n.Who, n.Who, n.Who
	for range noun.MaxAudit + 50 {
		d.s.Apply(d.entry(long))
	}
	d.apply(d.entry())
	if n := len(d.audit()); n != noun.MaxAudit || d.s.LastAudit() != noun.MaxAudit+50 {
		t.Errorf("%d entries are kept, the newest is %d", n, d.s.LastAudit())
	}
	for a := range d.s.Audit(0) {
		if len(a.Who) > noun.MaxPrincipal || len(a.Method) > noun.MaxAuditMethod || len(a.Room) > noun.MaxAuditRoom ||
			len(a.Source) > noun.MaxAuditSource || len(a.Digest) > noun.MaxDigest {
			t.Fatalf("a text is not cut: %+v", a)
		}
	}
	d.set("budget_history", "1MiB")
	for range 400 {
		d.apply(d.entry(by("user/anna", NoteAudit{})))
	}
	if used := d.s.Ledger.Cluster[noun.ForHistory]; used > 1<<20 {
		t.Errorf("the history takes %d bytes", used)
	}
	if list := d.audit(); len(list) == 0 || !strings.HasSuffix(list[len(list)-1], " user/anna") {
		t.Errorf("the newest entry is gone: %d are left", len(list))
	}
}

// Who restores an older backup does not wipe out what was done since, whichever cluster it is of.
func TestAuditOutlastsARestore(t *testing.T) {
	d := trusting(t)
	d.apply(d.entry(by("user/anna", NoteAudit{})))
	backup := d.backed()
	d.apply(d.entry(by("user/eve", NoteAudit{})))
	d.apply(d.entry(by("user/mallory", NoteAudit{})))
	backup.Outnumber(&d.s.View)
	x := &drive{t: t, s: backup, term: 2, index: 1000, clock: backup.Clock()}
	x.must(RaiseEpoch{})
	x.wantAudit("1 user/anna", "2 user/eve", "3 user/mallory")

	other := trusting(t)
	other.apply(other.entry(by("user/ben", NoteAudit{})))
	into := x.backed()
	into.Outnumber(&other.s.View)
	x = &drive{t: t, s: into, term: 3, index: 2000, clock: into.Clock()}
	x.must(RaiseEpoch{})
	x.wantAudit("1 user/anna", "2 user/eve", "3 user/mallory", "4 user/ben")
}
