package logstore

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// openBolt opens a log that is not synced: these tests write much and crash never.
func openBolt(t testing.TB, path string) *raftboltdb.BoltStore {
	t.Helper()
	opts := *bbolt.DefaultOptions
	opts.NoFreelistSync, opts.FreelistType, opts.Timeout = true, bbolt.FreelistMapType, time.Second
	b, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &opts, NoSync: true,
		MsgpackUseNewTimeFormat: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// edit changes a raw value in the file of a log that is closed.
func edit(t testing.TB, path, bucket string, do func(b *bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, NoSync: true,
		FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return do(tx.Bucket([]byte(bucket))) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func logKey(i uint64) []byte { return []byte{0, 0, 0, 0, 0, 0, byte(i >> 8), byte(i)} }

// damages gives every way to damage a value of n bytes that a disk is known for: one
// bit flipped, a run of bytes read as zeros or as something else, the end lost.
func damages(n int) (list []func(raw []byte) []byte) {
	for i := range n * 8 {
		list = append(list, func(raw []byte) []byte {
			raw[i/8] ^= 1 << (i % 8)
			return raw
		})
	}
	for _, fill := range []byte{0x00, 0xff, 0xa5} {
		for from := range n {
			for _, run := range []int{2, 8, n} {
				list = append(list, func(raw []byte) []byte {
					for i := from; i < min(from+run, n); i++ {
						raw[i] = fill
					}
					return raw
				})
			}
		}
	}
	for i := range n {
		list = append(list, func(raw []byte) []byte { return raw[:i] })
	}
	return list
}

// Whatever bit of a stored entry flips, and whatever part of it is lost: it is read
// as it was written, or refused.
func TestL8NoDamagedEntryIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	entry := func(i uint64) *raft.Log {
		return &raft.Log{Index: i, Term: 3, Data: []byte("acknowledged"), AppendedAt: time.Unix(1e9, 7)}
	}
	const first = 0x1001 // so that all of them are encoded in as many bytes
	b := openBolt(t, path)
	s := &summedStore{LogStore: b, stable: b, path: path}
	var ways []func([]byte) []byte
	if err := errors.Join(s.StoreLog(entry(first)), b.Close()); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "logs", func(b *bbolt.Bucket) error {
		ways = damages(len(b.Get(logKey(first))))
		return nil
	})
	b = openBolt(t, path)
	s = &summedStore{LogStore: b, stable: b, path: path}
	var logs []*raft.Log
	for i := range uint64(len(ways)) {
		logs = append(logs, entry(first+i))
	}
	if err := errors.Join(s.StoreLogs(logs), b.Close()); err != nil {
		t.Fatal(err)
	}
	if logs[0].Extensions != nil {
		t.Error("raft's own entry was changed")
	}
	edit(t, path, "logs", func(b *bbolt.Bucket) error {
		for i, way := range ways {
			key := logKey(first + uint64(i))
			if err := b.Put(key, way(bytes.Clone(b.Get(key)))); err != nil {
				return err
			}
		}
		return nil
	})
	b = openBolt(t, path)
	defer b.Close()
	s = &summedStore{LogStore: b, stable: b, path: path}
	refused, got := 0, raft.Log{}
	for i := range ways {
		want := entry(first + uint64(i))
		switch err := s.GetLog(want.Index, &got); {
		case err == nil && (got.Index != want.Index || got.Term != want.Term || got.Type != want.Type ||
			!bytes.Equal(got.Data, want.Data)):
			t.Errorf("L8: damage %d: read as %+v", i, got)
		case err != nil && !errors.Is(err, ErrDamaged):
			t.Errorf("damage %d: %v", i, err)
		case err != nil:
			refused++
		}
	}
	if refused < len(ways)/2 {
		t.Errorf("only %d of %d damages were noticed", refused, len(ways))
	}
	t.Logf("%d damages, %d refused", len(ways), refused)
}

// oneValue is a stable store of one value.
type oneValue struct {
	raft.StableStore
	raw []byte
}

func (o *oneValue) Set(_, v []byte) error      { o.raw = v; return nil }
func (o *oneValue) Get([]byte) ([]byte, error) { return o.raw, nil }

// A server that forgets its vote votes twice.
func TestL8NoDamagedVoteIsRead(t *testing.T) {
	var o oneValue
	s := &summedStore{stable: &o, path: "raft.db"}
	check := func(key string, set func() error, whole func() (bool, error)) {
		if err := set(); err != nil {
			t.Fatal(err)
		}
		raw := o.raw
		if ok, err := whole(); !ok || err != nil {
			t.Fatalf("%s: %v, %v", key, ok, err)
		}
		for i, way := range damages(len(raw)) {
			o.raw = way(bytes.Clone(raw))
			if ok, err := whole(); err == nil && !ok {
				t.Errorf("L8: %s, damage %d: read as something else: %x", key, i, o.raw)
			} else if err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, damage %d: %v", key, i, err)
			}
		}
	}
	term, vote := []byte("CurrentTerm"), []byte("LastVoteCand")
	check("term", func() error { return s.SetUint64(term, 77) }, func() (bool, error) {
		n, err := s.GetUint64(term)
		return n == 77, err
	})
	check("vote", func() error { return s.Set(vote, []byte("10.0.0.1:7421")) }, func() (bool, error) {
		v, err := s.Get(vote)
		// Cut off before its sum it looks like a name of the older format; it is then
		// nobody's, and raft votes for nobody else in that term.
		return strings.HasPrefix("10.0.0.1:7421", string(v)), err
	})
}

// What a version without sums has written is read, and that version reads what this
// one writes: a server may be upgraded and go back.
func TestLogsWithAndWithoutSumsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	b := openBolt(t, path)
	defer b.Close()
	s := &summedStore{LogStore: b, stable: b, path: path}
	term, vote := []byte("CurrentTerm"), []byte("LastVoteCand")
	err := errors.Join(b.StoreLog(&raft.Log{Index: 1, Term: 1, Data: []byte("old")}), b.SetUint64(term, 5),
		b.Set(vote, []byte("s1.example:7421")))
	if err != nil {
		t.Fatal(err)
	}
	var l raft.Log
	if err := s.GetLog(1, &l); err != nil || string(l.Data) != "old" {
		t.Errorf("old entry: %q, %v", l.Data, err)
	}
	if n, err := s.GetUint64(term); n != 5 || err != nil {
		t.Errorf("old term: %d, %v", n, err)
	}
	if v, err := s.Get(vote); string(v) != "s1.example:7421" || err != nil {
		t.Errorf("old vote: %q, %v", v, err)
	}
	if err := errors.Join(s.StoreLog(&raft.Log{Index: 2, Term: 1, Data: []byte("new")}),
		s.SetUint64(term, 6)); err != nil {
		t.Fatal(err)
	}
	if err := b.GetLog(2, &l); err != nil || string(l.Data) != "new" {
		t.Errorf("new entry, old version: %q, %v", l.Data, err)
	}
	if n, err := b.GetUint64(term); n != 6 || err != nil {
		t.Errorf("new term, old version: %d, %v", n, err)
	}
	if _, err := s.GetUint64([]byte("other")); err == nil || err.Error() != "not found" {
		t.Errorf("missing value: %v", err) // raft compares these words
	}
}
