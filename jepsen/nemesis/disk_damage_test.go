//go:build linux

package nemesis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// What is turned over in a log is one bit of one entry that it holds.
func TestEntryBitsDamageOneEntry(t *testing.T) {
	store := t.TempDir()
	file := filepath.Join(store, logFile)
	text := func(i uint64) []byte { return []byte(strings.Repeat(fmt.Sprintf("entry %d ", i), 20)) }
	db, err := raftboltdb.NewBoltStore(file)
	if err != nil {
		t.Fatal(err)
	}
	// Most pages hold copies that are not in use any more.
	for i := uint64(1); i <= 30; i++ {
		if err := db.StoreLog(&raft.Log{Index: i, Term: 1, Data: text(i), Extensions: []byte("sum")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.DeleteRange(1, 9); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hit := map[uint64]bool{}
	for seed := range uint64(10) {
		entry, spots, err := entryBits(store, rand.New(rand.NewPCG(seed, 1)))
		if err != nil || len(spots) == 0 {
			t.Fatalf("seed %d: %v, %v", seed, spots, err)
		}
		hit[entry] = true
		damaged := bytes.Clone(whole)
		for _, spot := range spots {
			damaged[spot.At] ^= 1 << spot.Bit
		}
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := raftboltdb.NewBoltStore(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := uint64(10); i <= 30; i++ {
			var l raft.Log
			if err := db.GetLog(i, &l); err != nil {
				t.Fatalf("seed %d: entry %d: %v", seed, i, err)
			}
			if bytes.Equal(l.Data, text(i)) == (i == entry) {
				t.Errorf("seed %d: entry %d was struck, entry %d is %q", seed, entry, i, l.Data)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(hit) < 2 {
		t.Errorf("always the same entry: %v", hit)
	}
}
