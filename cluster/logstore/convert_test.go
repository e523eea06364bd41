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
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

func (d *diskLog) convert(to Kind) (Converted, error) {
	return Convert(d.dir, to, Disk{Limit: time.Minute, after: d.after}, hclog.NewNullLogger())
}

// holds opens the data and looks whether it is what newConvertible has made, with or without the gap.
func (d *diskLog) holds(what string, kind Kind) {
	d.t.Helper()
	d.kind = kind
	r, err := d.open()
	if err != nil {
		d.t.Errorf("%s: %v", what, err)
		return
	}
	defer r.Close()
	for _, want := range distinct(6, 60, 2) {
		var got raft.Log
		if err := r.Log.GetLog(want.Index, &got); err != nil || got.Term != want.Term || !bytes.Equal(got.Data, want.Data) {
			d.t.Fatalf("L8: %s: entry %d is %v, %v", what, want.Index, got, err)
		}
	}
	last, err := r.Log.LastIndex()
	term, terr := r.Log.GetUint64([]byte("CurrentTerm"))
	vote, verr := r.Log.GetUint64([]byte("LastVoteTerm"))
	who, werr := r.Log.Get([]byte("LastVoteCand"))
	if last != 60 || term != 7 || vote != 6 || string(who) != "s2" || errors.Join(err, terr, verr, werr) != nil {
		d.t.Errorf("L8: %s: entry %d, term %d, voted in %d for %s; %v", what, last, term, vote, who,
			errors.Join(err, terr, verr, werr))
	}
}

// newConvertible is a log in bolt with a gap below its snapshot.
func newConvertible(t *testing.T) *diskLog {
	d := newDiskLog(t, 7, append(distinct(1, 3, 1), distinct(6, 60, 2)...)...)
	d.size = 4 << 10
	d.snapshot(50, 2)
	d.use(func(l *Log) error {
		return errors.Join(l.SetUint64([]byte("LastVoteTerm"), 6), l.Set([]byte("LastVoteCand"), []byte("s2")))
	})
	return d
}

func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// A log is converted there and back, and whenever a crash comes, one of both is in force and complete.
func TestL8ConvertedLogIsComplete(t *testing.T) {
	d := newConvertible(t)
	from := Bolt
	for _, to := range []Kind{WAL, Bolt, WAL} {
		before, states := from, map[Kind]int{}
		d.after = func(step string) {
			verb, _, _ := strings.Cut(step, " ")
			if !slices.Contains(changing, verb) {
				return // it changed nothing
			}
			crashed := &diskLog{t: t, dir: copyDir(t, d.dir), size: d.size}
			crashed.file = filepath.Join(crashed.dir, "raft.db")
			for _, kind := range []Kind{before, to} {
				crashed.kind = kind
				r, err := crashed.open()
				if errors.Is(err, ErrOtherKind) {
					continue
				}
				if err != nil {
					t.Errorf("%s to %s, crash at %q: %v", before, to, step, err)
					return
				}
				r.Close()
				states[kind]++
				crashed.holds(fmt.Sprintf("%s to %s, crash at %q", before, to, step), kind)
				return
			}
			t.Errorf("%s to %s, crash at %q: neither is in force", before, to, step)
		}
		done, err := d.convert(to)
		d.after = nil
		if err != nil || done.From != before || done.Last != 60 || done.First != 6 {
			t.Fatalf("convert to %s: %+v, %v", to, done, err)
		}
		if states[before] < 5 || states[to] < 1 {
			t.Errorf("crashes before and after the change of %s to %s: %v", before, to, states)
		}
		d.holds("converted", to)
		from = to
	}
	for _, left := range []string{d.file + newSuffix} {
		if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
	if done, err := d.convert(WAL); err != nil || done.From != WAL {
		t.Errorf("convert what is of that kind already: %+v, %v", done, err)
	}
}

// A log that is damaged, or in use, is not converted.
func TestOnlyAWholeLogIsConverted(t *testing.T) {
	d := newConvertible(t)
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.convert(WAL); !errors.Is(err, ErrInUse) {
		t.Errorf("a log in use: %v", err)
	}
	r.Close()
	damageFile(t, d.file)
	if _, err := d.convert(WAL); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged log: %v", err)
	}
}
