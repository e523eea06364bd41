package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"vigil/fsm"
)

// diskLog is the data directory of a server that is not running.
type diskLog struct {
	t         testing.TB
	dir, file string
	young     bool              // it has not taken part in a cluster
	size      int               // of a segment; 0: as ever
	kind      Kind              // that its log is to have
	after     func(verb string) // looks at the files after each step
}

// newDiskLog writes a log with the entries given, a few in each transaction.
func newDiskLog(t testing.TB, term uint64, logs ...*raft.Log) *diskLog {
	t.Helper()
	dir := t.TempDir()
	d := &diskLog{t: t, dir: dir, file: filepath.Join(dir, "raft.db")}
	b := openBolt(t, d.file)
	s := &summedStore{LogStore: b, stable: b, path: d.file}
	for len(logs) > 0 {
		n := min(len(logs), 64)
		if err := s.StoreLogs(logs[:n]); err != nil {
			t.Fatal(err)
		}
		logs = logs[n:]
	}
	if err := errors.Join(s.SetUint64([]byte("CurrentTerm"), term), b.Close()); err != nil {
		t.Fatal(err)
	}
	return d
}

// snapshot adds one of an empty state.
func (d *diskLog) snapshot(index, term uint64) (dir string) {
	d.t.Helper()
	store, err := raft.NewFileSnapshotStore(d.dir, 3, os.Stderr)
	if err != nil {
		d.t.Fatal(err)
	}
	_, trans := raft.NewInmemTransport("")
	sink, err := store.Create(1, index, term, raft.Configuration{}, 1, trans)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := errors.Join(fsm.New().Copy().Dump(sink), sink.Close()); err != nil {
		d.t.Fatal(err)
	}
	return filepath.Join(d.dir, "snapshots", sink.ID())
}

// opening is data that is open.
type opening struct {
	*Data
	dir   *Dir
	fatal chan error
}

func (o *opening) Close() {
	if err := o.dir.Close(); err != nil {
		panic(err)
	}
}

// open opens the data as a server does.
func (d *diskLog) open() (*opening, error) {
	d.t.Helper()
	o := &opening{fatal: make(chan error, 8)}
	var err error
	o.dir, err = OpenDir(d.dir, Disk{Limit: time.Minute, Fatal: func(err error) { o.fatal <- err }, after: d.after})
	if err != nil {
		d.t.Fatal(err)
	}
	if d.size > 0 {
		o.dir.size = d.size
	}
	done := make(chan error, 1)
	go func() { // whoever meets a failure of the disk stays there
		var err error
		o.Data, err = o.dir.Open(!d.young, d.kind, hclog.NewNullLogger())
		done <- err
	}()
	select {
	case err = <-done:
	case err = <-o.fatal:
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// refused opens the data and wants an error that says words and what to do.
func (d *diskLog) refused(what string, words ...string) {
	d.t.Helper()
	r, err := d.open()
	if err == nil {
		d.t.Errorf("%s: opened as if nothing were", what)
		r.Close()
		return
	}
	for _, w := range append(words, "empty its data directory") {
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), w) {
			d.t.Errorf("%s: want damage and %q, got: %v", what, w, err)
		}
	}
}

// opened opens the data and closes it again.
func (d *diskLog) opened(what string) {
	d.t.Helper()
	r, err := d.open()
	if err != nil {
		d.t.Errorf("%s: %v", what, err)
		return
	}
	r.Close()
}

func distinct(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Data: bytes.Repeat([]byte{byte(i), byte(i >> 8), 3}, 30)})
	}
	return logs
}

// Whatever happens to the file: a server opens with all that it had written, or it
// does not open. It never panics, and never forgets.
func TestL8DamagedLogIsRefused(t *testing.T) {
	const last, page = 120, 4096
	d := newDiskLog(t, 3, append(distinct(1, last-1, 2), distinct(last, last, 3)...)...)
	d.opened("whole")
	whole, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	refused, opened := 0, 0
	try := func(what string, data []byte) {
		if err := os.WriteFile(d.file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := d.open()
		if err != nil {
			refused++
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), d.file) ||
				!strings.Contains(err.Error(), "empty its data directory") {
				t.Errorf("%s: the error does not tell file and remedy: %v", what, err)
			}
			return
		}
		opened++
		defer r.Close()
		for _, want := range append(distinct(1, last-1, 2), distinct(last, last, 3)...) {
			got, err := r.Log.read(want.Index)
			if err != nil || got.Term != want.Term || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("L8: %s: entry %d is %v, %v", what, want.Index, got, err)
			}
		}
		if n, err := r.Log.GetUint64([]byte("CurrentTerm")); err != nil || n != 3 {
			t.Errorf("L8: %s: term %d, %v", what, n, err)
		}
	}
	change := func(what string, do func(p []byte), at int) {
		bad := bytes.Clone(whole)
		do(bad[at:min(at+page, len(bad))])
		if !bytes.Equal(bad, whole) {
			try(fmt.Sprintf("page %d %s", at/page, what), bad)
		}
	}
	for at := 0; at < len(whole); at += page {
		change("is zero", func(p []byte) { clear(p) }, at)
		change("begins with zeros", func(p []byte) { clear(p[:512]) }, at)
		change("ends with zeros", func(p []byte) { clear(p[2048:]) }, at)
		change("is the one before", func(p []byte) { copy(p, whole[max(0, at-page):]) }, at)
		for _, bit := range []int{3, 8 * 8, 8 * 10, 8*10 + 1, 8*10 + 2, 8*10 + 3, 8*12 + 1, 8*20 + 2,
			8*24 + 3, 8*28 + 1, 8 * 40, 8*48 + 1, 8 * 64, 8 * 70, 8 * 2000} {
			change(fmt.Sprintf("bit %d flipped", bit), func(p []byte) { p[bit/8] ^= 1 << (bit % 8) }, at)
		}
		try(fmt.Sprintf("only %d bytes", at+100), whole[:at+100])
		if at > 0 {
			try(fmt.Sprintf("only %d bytes", at), whole[:at])
		}
	}
	try("empty", nil)
	if pages := len(whole) / page; refused < pages { // free pages may hold anything
		t.Errorf("%d damages of %d pages were refused, %d harmless", refused, pages, opened)
	}
	t.Logf("%d damages refused, %d harmless", refused, opened)
	if err := os.Remove(d.file); err != nil {
		t.Fatal(err)
	}
	d.refused("gone", "the log is gone", d.file)
}

// Bolt goes on from the older of its two meta pages when the newer one is damaged:
// the last transaction, which was acknowledged, would be gone.
func TestL8LostTransactionIsNoticed(t *testing.T) {
	d := newDiskLog(t, 1, distinct(1, 10, 1)...)
	whole, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	for meta := range 2 {
		bad := bytes.Clone(whole)
		bad[meta*4096+16+48] ^= 4 // of the transaction's number
		if err := os.WriteFile(d.file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(d.file, 0o600, &bbolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatalf("bolt itself sees it: %v", err)
		}
		db.Close()
		d.refused("one meta page", fmt.Sprintf("meta page %d", meta), d.file)
	}
}

func TestL8LogThatCannotBeIsRefused(t *testing.T) {
	d := newDiskLog(t, 2, append(distinct(1, 5, 1), distinct(8, 9, 1)...)...)
	d.refused("a gap", "entries 6 to 7 are missing")
	d.snapshot(6, 1)
	d.refused("a gap beyond the snapshot", "entries 7 to 7 are missing")
	d.snapshot(7, 1)
	d.opened("a gap below the snapshot")
	d = newDiskLog(t, 2, append(distinct(1, 5, 2), distinct(6, 9, 1)...)...)
	d.refused("terms that fall", "entry 6 is of term 1")
	d = newDiskLog(t, 3, distinct(1, 9, 1)...)
	d.snapshot(5, 3)
	d.opened("entries that nobody else has, behind a snapshot that the leader sent")
	d = newDiskLog(t, 2, distinct(1, 5, 3)...)
	d.refused("a term that was forgotten", "says that the term is 2", "of term 3")
	d = newDiskLog(t, 2)
	d.snapshot(7, 5)
	d.refused("a snapshot of a later term", "says that the term is 2", "of term 5")
	d = newDiskLog(t, 2, distinct(3, 5, 1)...)
	d.refused("a log that begins in the middle", "begins at entry 3")
}

// Versions without sums wrote other logs, and a list of free pages.
func TestLogOfAVersionWithoutSumsOpens(t *testing.T) {
	d := newDiskLog(t, 1)
	if err := os.Remove(d.file); err != nil {
		t.Fatal(err)
	}
	b := openBolt(t, d.file)
	if err := errors.Join(b.StoreLogs(distinct(1, 300, 1)), b.SetUint64([]byte("CurrentTerm"), 1),
		b.DeleteRange(1, 100), b.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(d.file, 0o600, nil) // writes the list
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	d.snapshot(100, 1)
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Log.StoreLogs(distinct(301, 302, 1)); err != nil {
		t.Error(err)
	}
	r.Close()
	d.opened("with sums from the middle on")
}

func BenchmarkLogCheck(b *testing.B) {
	const n = 100_000
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d entries of %d bytes", n, size), func(b *testing.B) {
			d := newDiskLog(b, 1, entries(1, n, size)...)
			for b.Loop() {
				r, err := d.open()
				if err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}

// BenchmarkLogStore compares what is written with and without sums, durably.
func BenchmarkLogStore(b *testing.B) {
	for _, size := range []int{200, 4 << 10, 256 << 10} {
		for _, summed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d bytes, sums %v", size, summed), func(b *testing.B) {
				bolt := openBolt(b, filepath.Join(b.TempDir(), "raft.db"))
				defer bolt.Close()
				store := raft.LogStore(bolt)
				if summed {
					store = &summedStore{LogStore: bolt, stable: bolt}
				}
				next := uint64(1)
				for b.Loop() {
					if err := store.StoreLogs(entries(next, next+3, size)); err != nil {
						b.Fatal(err)
					}
					if next += 4; next%2048 == 1 {
						if err := store.DeleteRange(1, next-1); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
