package logstore

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/fsm"
)

// A snapshot that is ahead of the log counts as soon as the log was cut for it, and never did if a crash came before:
// at the first start after the crash, and at all that follow, whatever the log holds by then and whatever its form is.
func TestL8SnapshotAheadOfAnUncutLogNeverWas(t *testing.T) {
	for _, kind := range []Kind{Bolt, WAL} {
		for _, cut := range []bool{false, true} {
			d := &diskLog{t: t, dir: t.TempDir(), young: true, kind: kind}
			d.file = filepath.Join(d.dir, "raft.db")
			use := func(do func(o *opening) error) {
				t.Helper()
				o, err := d.open()
				if err != nil {
					t.Fatalf("%s, cut %v: %v", kind, cut, err)
				}
				defer o.Close()
				if err := do(o); err != nil {
					t.Fatalf("%s, cut %v: %v", kind, cut, err)
				}
			}
			use(func(o *opening) error {
				sink := func(index, term uint64) error {
					_, trans := raft.NewInmemTransport("")
					sink, err := o.Snapshots.Create(1, index, term, raft.Configuration{}, 1, trans)
					if err != nil {
						return err
					}
					return errors.Join(fsm.New().Copy().Dump(sink), sink.Close())
				}
				err := errors.Join(o.Log.StoreLogs(distinct(1, 40, 1)), o.Log.SetUint64([]byte("CurrentTerm"), 1),
					o.dir.SetIdentity("blue", "s1"), sink(30, 1), sink(41, 1))
				if o.Log.CoverNext(41); cut {
					err = errors.Join(err, o.Log.StoreLogs(distinct(42, 42, 1)))
				}
				return err
			})
			d.young = false
			s, err := Look(d.dir, 5*time.Second, hclog.NewNullLogger())
			if err != nil {
				t.Fatal(err)
			}
			wantIndex, wantLast := uint64(30), uint64(40)
			if cut {
				wantIndex, wantLast = 41, 42
			}
			if s.Index != wantIndex || s.Last != wantLast || len(s.Damaged) > 0 {
				t.Errorf("%s, cut %v: who looks sees snapshot %d, log to %d, damaged %v", kind, cut, s.Index, s.Last, s.Damaged)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for i := range 3 {
				if i == 1 {
					d.kind = map[Kind]Kind{Bolt: WAL, WAL: Bolt}[kind]
					if _, err := d.convert(d.kind); err != nil {
						t.Fatalf("%s, cut %v: convert: %v", kind, cut, err)
					}
				}
				use(func(o *opening) error {
					last, err := o.Log.LastIndex()
					if o.Index != wantIndex || last != wantLast {
						t.Errorf("%s, cut %v: began with snapshot %d and a log to %d, want %d and %d",
							kind, cut, o.Index, last, wantIndex, wantLast)
					}
					metas, lerr := o.Snapshots.List()
					if len(metas) == 0 || metas[0].Index != wantIndex {
						t.Errorf("%s, cut %v: raft is shown %+v", kind, cut, metas[0])
					}
					wantLast++ // what others have agreed on meanwhile
					return errors.Join(err, lerr, o.Log.SetUint64([]byte("CurrentTerm"), 2),
						o.Log.StoreLogs(distinct(wantLast, wantLast, 2)))
				})
			}
		}
	}
}
