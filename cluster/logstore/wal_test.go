package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/types"
)

// walDir is the data directory of a server that keeps its log in segments, and does not run.
func walDir(t testing.TB) *diskLog {
	t.Helper()
	dir := t.TempDir()
	d := &diskLog{t: t, dir: dir, file: filepath.Join(dir, "raft.db"), young: true, kind: WAL, size: 64 << 10}
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Log.SetUint64([]byte("CurrentTerm"), 9); err != nil {
		t.Fatal(err)
	}
	r.Close()
	d.young = false
	return d
}

// use opens the data, does something with the log, and closes it.
func (d *diskLog) use(do func(l *Log) error) {
	d.t.Helper()
	r, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	if err := do(r.Log); err != nil {
		d.t.Fatal(err)
	}
}

// tail is the segment that is written to.
func (d *diskLog) tail() string {
	d.t.Helper()
	list, err := filepath.Glob(filepath.Join(d.dir, "wal", "*.wal"))
	if err != nil || len(list) == 0 {
		d.t.Fatalf("segments: %v, %v", list, err)
	}
	return slices.Max(list)
}

// written reads what was written to a segment: the file without the zeros behind.
func written(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(data, "\x00")
}

func replace(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to a segment: a server opens with all that it had acknowledged, or it does not open.
// Only the last write may be missing, since a torn one looks the same.
func TestL8DamagedSegmentIsRefused(t *testing.T) {
	d := walDir(t)
	var ends []int // behind each write
	d.use(func(l *Log) error {
		for i := uint64(1); i <= 8; i++ {
			if err := l.StoreLogs(distinct(i*2-1, i*2, 3)); err != nil {
				return err
			}
			ends = append(ends, len(written(t, d.tail())))
		}
		return nil
	})
	tail, refused, torn := d.tail(), 0, 0
	whole, lastWrite := written(t, tail), ends[len(ends)-2]
	try := func(what string, at int, data []byte) {
		replace(t, tail, data)
		r, err := d.open()
		if err != nil {
			refused++
			if at >= lastWrite || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(tail)) ||
				!strings.Contains(err.Error(), "empty its data directory") {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		defer r.Close()
		last, err := r.Log.LastIndex()
		if at < lastWrite && bytes.Count(data, nil) > lastWrite+1 || err != nil || last != 14 && last != 16 {
			t.Fatalf("L8: %s: opened, and goes to entry %d, %v", what, last, err)
		}
		torn++
		for _, want := range distinct(1, last, 3) {
			got, err := r.Log.read(want.Index)
			if err != nil || got.Term != want.Term || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("L8: %s: entry %d is %v, %v", what, want.Index, got, err)
			}
		}
	}
	for at := 0; at < len(whole); at += 3 {
		bad := bytes.Clone(whole)
		bad[at] ^= 1 << (at % 7)
		try(fmt.Sprintf("bit of byte %d flipped", at), at, bad)
		if at%96 == 0 && at+512 <= lastWrite { // else it looks like one torn write
			bad = bytes.Clone(whole)
			clear(bad[at:min(at+512, len(bad))])
			try(fmt.Sprintf("sector at %d is zero", at), at, bad)
		}
		if at >= lastWrite {
			try(fmt.Sprintf("only %d bytes", at), at, whole[:at])
		}
	}
	if refused < lastWrite/3 || torn < (len(whole)-lastWrite)/3 {
		t.Errorf("%d damages of %d bytes were refused, %d were taken for a torn write", refused, lastWrite, torn)
	}
}

// What is lost as a whole is noticed, too: the segments belong together, and to the description in raft.db.
func TestL8LostSegmentIsNoticed(t *testing.T) {
	d := walDir(t)
	d.use(func(l *Log) error {
		if err := l.StoreLogs(distinct(1, 9, 1)); err != nil {
			return err
		}
		return l.DeleteRange(6, 9) // seals the first segment
	})
	d.use(func(l *Log) error { return l.StoreLogs(distinct(6, 7, 2)) })
	list, err := filepath.Glob(filepath.Join(d.dir, "wal", "*.wal"))
	if err != nil || len(list) != 2 {
		t.Fatalf("segments %v, %v", list, err)
	}
	for _, path := range list {
		data := written(t, path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		d.refused("a segment is gone", filepath.Base(path), "is gone")
		replace(t, path, data)
	}
	d.opened("all are back")
	stray := filepath.Join(d.dir, "wal", "00000000000000000008-00000000000000000f.wal")
	replace(t, stray, nil)
	d.refused("a name that is none", "does not belong there")
	stray = filepath.Join(d.dir, "wal", "00000000000000000008-000000000000000f.wal")
	if err := os.Rename(strings.Replace(stray, "-00", "-0000", 1), stray); err != nil {
		t.Fatal(err)
	}
	d.refused("a segment that nothing describes", "nothing has ever described it")
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	d.refusesOtherIndexes(list[0])
	d.refusesOtherBolt()
}

// refusesOtherIndexes damages the index of a full segment, which nothing else holds.
func (d *diskLog) refusesOtherIndexes(path string) {
	t := d.t
	whole := written(t, path)
	for at := len(whole) - 40; at < len(whole); at++ {
		bad := bytes.Clone(whole)
		bad[at] ^= 1
		replace(t, path, bad)
		d.refused("the index of a full segment", filepath.Base(path))
	}
	replace(t, path, whole)
}

// refusesOtherBolt takes raft.db away, and damages it: that never changes the log.
func (d *diskLog) refusesOtherBolt() {
	t := d.t
	for _, what := range []string{"gone", "empty"} {
		bolt, err := os.ReadFile(d.file)
		if err != nil {
			t.Fatal(err)
		}
		if what == "gone" {
			err = os.Remove(d.file)
		} else {
			err = os.Truncate(d.file, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d.young = range []bool{false, true} {
			d.refused("raft.db is "+what, "the log is gone")
		}
		replace(t, d.file, bolt)
	}
	for at := 0; at < 1<<15; at += 509 {
		bolt, err := os.ReadFile(d.file)
		if err != nil {
			t.Fatal(err)
		}
		if at >= len(bolt) {
			break
		}
		bad := bytes.Clone(bolt)
		bad[at] ^= 4
		replace(t, d.file, bad)
		if r, err := d.open(); err == nil {
			last, err := r.Log.LastIndex()
			if term, terr := r.Log.GetUint64([]byte("CurrentTerm")); last != 7 || err != nil || terr != nil || term != 9 {
				t.Fatalf("L8: byte %d: entry %d, term %d, %v, %v", at, last, term, err, terr)
			}
			r.Close()
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
		replace(t, d.file, bolt)
	}
}

// The library refuses every write when a crash came after a segment was sealed and before the next one was
// described, and takes what a torn write has left for entries once a shorter one was written over it.
func TestCrashAtTheEndOfASegmentIsMended(t *testing.T) {
	d := walDir(t)
	var before types.PersistentState
	d.use(func(l *Log) (err error) {
		if err := l.StoreLogs(distinct(1, 9, 1)); err != nil {
			return err
		}
		m := &segmentMeta{&segmentFS{disk: l.disk, stable: l.in}}
		if before, _, err = m.read(); err != nil {
			return err
		}
		if err := l.DeleteRange(9, 9); err != nil {
			return err
		}
		return m.CommitState(before) // as if the crash had come before this was described
	})
	if err := os.Remove(d.tail()); err != nil {
		t.Fatal(err)
	}
	d.use(func(l *Log) error {
		if last, err := l.LastIndex(); last != 9 || err != nil {
			return fmt.Errorf("the log ends with entry %d, %w", last, err)
		}
		return l.StoreLogs(distinct(10, 12, 1))
	})
	tail := d.tail()
	whole := written(t, tail)
	torn := append(bytes.Clone(whole), bytes.Repeat(whole[segmentHeader:len(whole)-frameHeader], 3)...)
	replace(t, tail, torn)
	d.use(func(l *Log) error { return l.StoreLogs([]*raft.Log{{Index: 13, Term: 1}}) })
	d.use(func(l *Log) error {
		if last, err := l.LastIndex(); last != 13 || err != nil {
			return fmt.Errorf("the log ends with entry %d, %w", last, err)
		}
		return nil
	})
}

// The kind is what the directory says. A setting that differs is refused, and nothing changes.
func TestOtherKindOfLogIsRefused(t *testing.T) {
	for _, kind := range []Kind{Bolt, WAL} {
		d := walDir(t)
		if kind == Bolt {
			d = newDiskLog(t, 1, distinct(1, 9, 1)...)
		}
		d.opened("its own kind")
		d.kind = ""
		d.opened("without a setting")
		d.kind = Bolt
		if kind == Bolt {
			d.kind = WAL
		}
		for range 2 {
			_, err := d.open()
			want := fmt.Sprintf("vigil server convert-log --data-dir %s --to %s", d.dir, d.kind)
			if !errors.Is(err, ErrOtherKind) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s as %s: %v", kind, d.kind, err)
			}
		}
		d.kind = kind
		d.opened("its own kind, after that")
	}
}

// A log folder can be opened by its owner only.
func TestSegmentsArePrivate(t *testing.T) {
	d := walDir(t)
	for path, want := range map[string]os.FileMode{filepath.Join(d.dir, "wal"): 0o700, d.tail(): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Segments follow one another while entries are written, and go when a snapshot holds them.
func TestSegmentsFollowAndGo(t *testing.T) {
	d := walDir(t)
	count := func() int {
		list, err := filepath.Glob(filepath.Join(d.dir, "wal", "*.wal"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	const n, size = 100, 10_000
	d.use(func(l *Log) error {
		for i := uint64(1); i <= n; i++ {
			if err := l.StoreLogs(entries(i, i, size)); err != nil {
				return err
			}
		}
		return nil
	})
	if got := count(); got < 14 || got > 18 {
		t.Errorf("%d segments", got)
	}
	d.snapshot(90, 1)
	d.use(func(l *Log) error { return l.DeleteRange(1, 80) })
	d.use(func(l *Log) error {
		first, err := l.FirstIndex()
		if err != nil || first != 81 {
			return fmt.Errorf("the log begins with entry %d, %w", first, err)
		}
		return nil
	})
	if got := count(); got > 5 {
		t.Errorf("%d segments after the log was cut", got)
	}
}
