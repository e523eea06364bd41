//go:build linux

package incidents

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/jepsen/disk"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// disks gives the stand to a test that makes disks of servers fail.
func disks(t *testing.T) *world {
	t.Helper()
	if why := disk.Missing(); why != "" {
		t.Skip(why)
	}
	w := fleet(t)
	if w.Servers[0].Disk() == nil {
		t.Skip("the stand has no disks that can fail")
	}
	return w
}

// spoil makes the disk of a server fail until mend or the end of the test.
func (w *world) spoil(sv *stand.Server, f disk.Faults) (mend func()) {
	w.t.Helper()
	if err := sv.Disk().Set(f); err != nil {
		w.t.Fatal(err)
	}
	mend = func() {
		if err := sv.Disk().Set(disk.Faults{}); err != nil {
			w.t.Errorf("mend the disk of %s: %v", sv.Name, err)
		}
		if !sv.Up() {
			if err := sv.Start(); err != nil {
				w.t.Errorf("start %s: %v", sv.Name, err)
			}
		}
	}
	w.t.Cleanup(mend)
	return mend
}

// held waits until a server waits for its disk.
func (w *world) held(sv *stand.Server) {
	w.t.Helper()
	w.eventually(sv.Name+" waits for its disk", func() error {
		st, err := sv.Disk().Stats()
		if err == nil && st.Waiting == 0 {
			err = errNotYet(fmt.Sprintf("%+v", st))
		}
		return err
	})
}

// endsSaying waits until a server has ended by itself, with an error that says so.
func (w *world) endsSaying(sv *stand.Server, says string) {
	w.t.Helper()
	w.eventually(sv.Name+" ends", func() error {
		if sv.Up() {
			return errNotYet("it runs")
		}
		return nil
	})
	if code := sv.Process.Code(); code <= 0 {
		w.t.Errorf("%s ended with code %d", sv.Name, code)
	}
	text := w.log(sv.Name, "server")
	if last := text[max(0, len(text)-4096):]; !strings.Contains(last, says) {
		w.t.Errorf("the log of %s does not say %q: %s", sv.Name, says, last)
	}
}

// anotherLeads waits until somebody else than this server leads.
func (w *world) anotherLeads(than *stand.Server) *stand.Server {
	w.t.Helper()
	var lead *stand.Server
	w.eventually("somebody else leads", func() error {
		if lead = w.leader(); lead == than {
			return errNotYet("it is still " + lead.Name)
		}
		return nil
	})
	return lead
}

// goesOn starts a server again and waits until it has everything that the others have.
func (w *world) goesOn(sv *stand.Server) {
	w.t.Helper()
	if !sv.Up() {
		if err := sv.Start(); err != nil {
			w.t.Fatal(err)
		}
	}
	w.settled()
	index := w.status().GetIndex()
	own := vigilv1.NewClusterClient(w.at(sv))
	w.eventually(sv.Name+" has caught up", func() error {
		st, err := own.Status(w.ctx(), &vigilv1.StatusRequest{Stale: true})
		if err == nil && st.GetIndex() < index {
			err = fmt.Errorf("it is at %d of %d", st.GetIndex(), index)
		}
		return err
	})
}

// I20, a leader stuck in its disk: while its fsync waits for five leases, it says yes to
// no beat; another one leads, and no lease that is renewed there ends (laws L1, L10).
func TestI20StuckLeaderRenewsNothing(t *testing.T) {
	slow(t, "five leases of a stuck disk")
	w := disks(t)
	const agents = 20
	w.room(role("work", agents, "", byHand, lasting(3*ttl)), role("hand", 1, "", byHand, lasting(30*ttl)))
	workers := w.workers(agents)
	own := w.hand("hand")
	lead := w.leader()
	direct := w.at(lead)
	mend := w.spoil(lead, disk.Faults{Stall: disk.Forever})
	began := time.Now()
	leads := func() bool {
		st, err := vigilv1.NewClusterClient(direct).Status(w.short(), &vigilv1.StatusRequest{Stale: true})
		return err == nil && st.GetLeader() == lead.Name
	}
	asked := 0
	for time.Since(began) < 5*ttl {
		if before := leads(); !before {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		asked++
		got, err := vigilv1.NewWorkClient(direct).Beat(w.short(), own.request())
		if err == nil && len(got.GetExceptions()) == 0 && leads() {
			t.Errorf("%s after its disk was stuck the leader renewed a lease",
				time.Since(began).Round(time.Millisecond))
		}
	}
	if asked == 0 {
		t.Error("the stuck leader was asked nothing")
	}
	now := w.anotherLeads(lead)
	t.Logf("%d beats were sent to the stuck leader, then %s led", asked, now.Name)
	mend()
	w.goesOn(lead)
	w.noneEnded(workers)
}

// I132, a leader whose disk hangs and whose network does not: it gives up by itself,
// another one leads, and writes succeed although that disk never comes back.
func TestI132HungDiskLosesTheLead(t *testing.T) {
	slow(t, "a disk that hangs for ever")
	w := disks(t)
	w.room(role("hand", 1, "", byHand))
	lead := w.leader()
	mend := w.spoil(lead, disk.Faults{Stall: disk.Forever})
	began := time.Now()
	task := w.task("hand", "") // until somebody else leads it is tried again
	t.Logf("a write succeeded %s after the disk hung", time.Since(began).Round(time.Millisecond))
	if now := w.leader(); now == lead {
		t.Errorf("%s still leads", lead.Name)
	}
	w.endsSaying(lead, "disk does not answer")
	w.taskIs(task, vigilv1.TaskState_PENDING, vigilv1.TaskState_QUEUED)
	mend()
	w.goesOn(lead)
}

// I130, success on a full disk: while the disk of the leader, and then of a majority, is
// full, nothing is acknowledged that is lost; with space again the same data goes on
// (law L8).
func TestI130FullDiskLosesNothing(t *testing.T) {
	slow(t, "disks that are full on one server, then on two")
	w := disks(t)
	w.room(role("hand", 1, "", byHand))
	writes := w.writes("hand")
	writes.more(20)

	lead := w.leader()
	mend := w.spoil(lead, disk.Faults{Refuse: syscall.ENOSPC})
	w.endsSaying(lead, "free some space")
	writes.more(20) // at somebody else
	mend()
	w.goesOn(lead)

	full := []*stand.Server{w.leader()}
	for _, sv := range w.Servers {
		if len(full) < 2 && sv != full[0] {
			full = append(full, sv)
		}
	}
	var mends []func()
	for _, sv := range full {
		mends = append(mends, w.spoil(sv, disk.Faults{Refuse: syscall.ENOSPC}))
	}
	for _, sv := range full {
		w.endsSaying(sv, "free some space")
	}
	before := writes.count()
	always(t, ttl, "no write is acknowledged without a majority", func() error {
		if n := writes.count(); n > before+1 { // one answer may have been on its way
			return fmt.Errorf("%d were", n-before)
		}
		return nil
	})
	for _, mend := range mends {
		mend()
	}
	writes.more(20)
	w.kept(writes.end())
}

// I131, a broken log after a full disk: a server that ran out of space says so; one that
// is killed in the middle of a write starts with the torn end of its log cut off. The
// others go on all the time (law L8).
func TestI131TornLogIsCutOff(t *testing.T) {
	slow(t, "a full disk and three torn ends")
	w := disks(t)
	w.room(role("hand", 1, "", byHand))
	writes := w.writes("hand")
	sv := w.follower()
	mend := w.spoil(sv, disk.Faults{Refuse: syscall.ENOSPC})
	w.endsSaying(sv, "free some space")
	writes.more(20)
	mend()
	w.goesOn(sv)
	for seed := range uint64(3) {
		mend := w.spoil(sv, disk.Faults{Stall: disk.Forever})
		w.held(sv)
		w.cutPower(sv, disk.Loss{How: disk.Torn, Seed: seed})
		writes.more(20)
		mend()
		w.goesOn(sv)
	}
	w.kept(writes.end())
}

// I135, acknowledged before it was durable, and damage that spreads: a leader that loses
// power keeps what it had acknowledged, and a server whose files were changed refuses to
// go on with them, is emptied and joins again (law L8).
func TestI135LostPowerAndDamagedFiles(t *testing.T) {
	slow(t, "three losses of power and a server that joins anew")
	w := disks(t)
	w.room(role("hand", 1, "", byHand))
	writes := w.writes("hand")
	for seed := range uint64(3) {
		writes.more(20)
		lead := w.leader()
		w.spoil(lead, disk.Faults{Stall: disk.Forever})
		w.held(lead) // in the middle of a write
		w.cutPower(lead, disk.Loss{How: []string{disk.All, disk.Some, disk.Some}[seed], Seed: seed})
		writes.more(20)
		w.goesOn(lead)
	}

	sv := w.follower()
	const mark = "a text to be damaged"
	w.task("hand", mark)
	w.goesOn(sv)
	if err := sv.Kill(); err != nil {
		t.Fatal(err)
	}
	if n := w.flip(sv, mark); n == 0 {
		t.Fatalf("%s has no such entry in its log", sv.Name)
	}
	if err := sv.Start(); err != nil {
		t.Fatal(err)
	}
	w.endsSaying(sv, "damaged")
	writes.more(20)
	w.reseed(sv)
	w.kept(writes.end())
}

// cutPower ends a server and loses what was not durable.
func (w *world) cutPower(sv *stand.Server, how disk.Loss) {
	w.t.Helper()
	if err := sv.Kill(); err != nil {
		w.t.Fatal(err)
	}
	lost, err := sv.Disk().Lose(how)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("%s lost %s of %d writes and %d names", sv.Name, how.How, lost.Writes, lost.Names)
	w.spoil(sv, disk.Faults{}) // it is good again
}

// flip turns over a bit of every copy of a text in the log of a server that does not
// run, and tells how many there were.
func (w *world) flip(sv *stand.Server, text string) (n int) {
	w.t.Helper()
	const file = "raft.db"
	data, err := os.ReadFile(filepath.Join(sv.Disk().Store(), file))
	if err != nil {
		w.t.Fatal(err)
	}
	for from := 0; ; n++ {
		at := bytes.Index(data[from:], []byte(text))
		if at < 0 {
			return n
		}
		if err := sv.Disk().Flip(disk.Spot{Path: file, At: int64(from + at), Bit: 2}); err != nil {
			w.t.Fatal(err)
		}
		from += at + len(text)
	}
}

// follower is a server that does not lead.
func (w *world) follower() *stand.Server {
	w.t.Helper()
	lead := w.leader()
	for _, sv := range w.Servers {
		if sv != lead {
			return sv
		}
	}
	w.t.Fatal(errors.New("there is only one server"))
	return nil
}
