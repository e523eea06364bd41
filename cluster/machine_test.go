package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// A snapshot that is installed tells everybody who follows the state to look again.
func TestF09InstalledSnapshotIsTold(t *testing.T) {
	cfg := &Config{ID: "s1", Features: FeatureLevel}
	met, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(cfg, fsm.New(), met, func(err error) { t.Error(err) })
	var told []noun.Effects
	m.subs = append(m.subs, func(e noun.Effects) {
		if m.state.LastIndex() != 7 {
			t.Error("told before the state is there")
		}
		told = append(told, e)
	})
	s := fsm.New()
	s.Apply(&fsm.Entry{Index: 7,
		Requests: []fsm.Request{{Cmd: fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a"}}}}}})
	var b bytes.Buffer
	if err := s.Copy().Dump(&b); err != nil {
		t.Fatal(err)
	}
	if err := m.Restore(io.NopCloser(&b)); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !told[0].Reset || !told[0].Plan || told[0].LastEvent != s.LastEvent() {
		t.Errorf("told %+v", told)
	}
}

// A snapshot of a newer version ends the server once, and nothing is applied behind it.
func TestSnapshotOfANewerVersionEndsTheServer(t *testing.T) {
	met, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	var fatal []error
	m := newMachine(&Config{ID: "s1", Features: FeatureLevel}, fsm.New(), met,
		func(err error) { fatal = append(fatal, err) })
	newer := []byte("vigil state 1\n\x02\x00\x00\x00\x00\x00\x00\x00\xff\x7f") // more fields than there are
	newer = binary.LittleEndian.AppendUint32(newer, crc32.Checksum(newer[22:], crc32.MakeTable(crc32.Castagnoli)))
	for range 2 {
		if err := m.Restore(io.NopCloser(bytes.NewReader(newer))); !errors.Is(err, record.ErrUnknown) {
			t.Errorf("got %v", err)
		}
	}
	if len(fatal) != 1 || !errors.Is(fatal[0], record.ErrUnknown) || !errors.Is(fatal[0], fsm.ErrNewer) {
		t.Errorf("fatal: %v", fatal)
	}
}

// A panic while an entry is applied ends the server with an error that names the entry and its
// commands, not what they say; nothing is applied, served or written after it.
func TestF13PanicInApplyNamesTheEntry(t *testing.T) {
	met, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	var fatal []error
	cfg := &Config{ID: "s1", Features: FeatureLevel}
	m := newMachine(cfg, fsm.New(), met, func(err error) { fatal = append(fatal, err) })
	m.state = &fsm.State{} // without its indexes it is broken
	told := 0
	m.subs = append(m.subs, func(noun.Effects) { told++ })
	data, err := record.Encode(&fsm.Entry{Stint: 1,
		Requests: []fsm.Request{{Cmd: fsm.OpenSession{}}, {Cmd: fsm.ApplyRoom{Room: "r",
			Roles: []noun.RoleSpec{{Name: "secret"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for index := range uint64(2) {
		if ans := m.Apply(&raft.Log{Index: 9 + index, Term: 1, Data: data}); ans != nil {
			t.Errorf("entry %d is answered %v", 9+index, ans)
		}
	}
	if len(fatal) != 1 || !errors.Is(fatal[0], ErrBrokenInvariant) ||
		!strings.Contains(fatal[0].Error(), "log entry 9 with OpenSession, ApplyRoom") ||
		strings.Contains(fatal[0].Error(), "secret") {
		t.Errorf("fatal: %v", fatal)
	}
	if told != 0 {
		t.Errorf("%d effects of it were told", told)
	}
	if _, err := m.Snapshot(); err == nil {
		t.Error("a snapshot of the broken state was taken")
	}
	if !m.mu.TryLock() {
		t.Error("its lock is held for ever")
	}
}
