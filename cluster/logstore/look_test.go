package logstore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// filesOf gives the names, modes and bytes of all files.
func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String() + info.ModTime().String()
		if !e.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(data)
		}
		files[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func unchanged(t testing.TB, what string, before, after map[string]string) {
	t.Helper()
	for path := range after {
		if before[path] != after[path] {
			t.Errorf("%s: %s was changed", what, path)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%s: there were %d files, now %d", what, len(before), len(after))
	}
}

// Whoever looks into a directory sees what a start would open, in logs of both kinds and several segments, and writes
// nothing: neither in a sound one, nor in one that a start would mend or refuse.
func TestLookSeesAllAndWritesNothing(t *testing.T) {
	const last = 300
	for _, kind := range []Kind{Bolt, WAL} {
		d := &diskLog{t: t, dir: t.TempDir(), young: true, size: 4 << 10, kind: kind}
		d.file = filepath.Join(d.dir, "raft.db")
		o, err := d.open()
		if err != nil {
			t.Fatal(err)
		}
		logs := distinct(1, last, 3)
		for at := 0; at < last; at += 20 {
			if err := o.Log.StoreLogs(logs[at : at+20]); err != nil {
				t.Fatal(err)
			}
		}
		refusal := Refusal{Index: 290, Term: 3, Sum: Sum(logs[289]), Data: []byte("refused")}
		if err := errors.Join(o.Log.SetUint64([]byte("CurrentTerm"), 3), o.Log.DeleteRange(1, 50),
			o.dir.SetIdentity("blue", "s1"), o.Log.SetRefusals([]Refusal{refusal})); err != nil {
			t.Fatal(err)
		}
		if _, err := Look(d.dir, time.Second, hclog.NewNullLogger()); !errors.Is(err, ErrInUse) {
			t.Errorf("%s: while a server runs: %v", kind, err)
		}
		o.Close()
		d.snapshot(60, 3)
		before := filesOf(t, d.dir)
		s, err := Look(d.dir, 5*time.Second, hclog.NewNullLogger())
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if s.Cluster != "blue" || s.Server != "s1" || s.Kind != kind || s.First != 51 || s.Last != last || s.Index != 60 ||
			s.CurrentTerm != 3 || s.Torn || len(s.Log.Refusals()) != 1 || s.Bytes == 0 {
			t.Errorf("%s: it sees %+v", kind, s)
		}
		for i := s.First; i <= s.Last; i++ {
			var l raft.Log
			raw, err := s.Log.Raw(i)
			if err = errors.Join(err, s.Log.GetLog(i, &l)); err != nil || !bytes.Equal(raw.Data, logs[i-1].Data) ||
				(i == refusal.Index) != (string(l.Data) == "refused") {
				t.Fatalf("%s: entry %d is %q, as it is read %q, %v", kind, i, raw.Data, l.Data, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		unchanged(t, string(kind), before, filesOf(t, d.dir))
		d.lookDamaged(kind)
		d.young = false
		d.dir = t.TempDir()
		if _, err := Look(d.dir, time.Second, hclog.NewNullLogger()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: an empty directory: %v", kind, err)
		}
	}
}

// lookDamaged damages the log, and looks.
func (d *diskLog) lookDamaged(kind Kind) {
	d.t.Helper()
	file := d.file
	if kind == WAL {
		list, err := filepath.Glob(filepath.Join(d.dir, "wal", "*.wal"))
		if err != nil || len(list) < 3 {
			d.t.Fatalf("segments %v, %v", list, err)
		}
		file = list[len(list)-1]
		d.tornEnd(file)
		file = list[1]
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	at := bytes.Index(whole, distinct(200, 200, 3)[0].Data)
	for i := uint64(52); at < 0 && i < 300; i++ {
		at = bytes.Index(whole, distinct(i, i, 3)[0].Data)
	}
	bad := bytes.Clone(whole)
	bad[at+7] ^= 1
	if err := os.WriteFile(file, bad, 0o600); err != nil {
		d.t.Fatal(err)
	}
	before := filesOf(d.t, d.dir)
	if _, err := Look(d.dir, 5*time.Second, hclog.NewNullLogger()); !errors.Is(err, ErrDamaged) {
		d.t.Errorf("%s: a flipped bit: %v", kind, err)
	}
	unchanged(d.t, "damaged "+string(kind), before, filesOf(d.t, d.dir))
}

// tornEnd leaves half a write at the end of the last segment.
func (d *diskLog) tornEnd(file string) {
	d.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	_, id, _ := segmentName(filepath.Base(file))
	end := len(bytes.TrimRight(data, "\x00"))
	end = (end + 2*frameHeader) / frameHeader * frameHeader
	if end+20 > len(data) {
		d.t.Fatalf("segment %x is full", id)
	}
	copy(data[end:], "half a write that was interrupted"[:20])
	if err := os.WriteFile(file, data, 0o600); err != nil {
		d.t.Fatal(err)
	}
	before := filesOf(d.t, d.dir)
	s, err := Look(d.dir, 5*time.Second, hclog.NewNullLogger())
	if err != nil || !s.Torn || s.Last != 300 {
		d.t.Fatalf("a torn write: %+v, %v", s, err)
	}
	s.Close()
	unchanged(d.t, "torn", before, filesOf(d.t, d.dir))
}
