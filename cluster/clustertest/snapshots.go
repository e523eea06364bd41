package clustertest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// snapshots keeps the three newest snapshots in memory. Unlike raft's own store in
// memory it shows a snapshot only when it is complete.
type snapshots struct {
	mu   sync.Mutex
	list []*memSnapshot // newest first
	made int
	slow time.Duration // that opening one takes
}

type memSnapshot struct {
	store *snapshots
	meta  raft.SnapshotMeta
	data  bytes.Buffer
	kept  bool
}

func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return &memSnapshot{store: s, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d-%d", term, index, s.made), Index: index, Term: term,
		Configuration: conf, ConfigurationIndex: confIndex,
	}}, nil
}

func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var metas []*raft.SnapshotMeta
	for _, m := range s.list {
		meta := m.meta
		metas = append(metas, &meta)
	}
	return metas, nil
}

func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	slow := s.slow
	s.mu.Unlock()
	time.Sleep(slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.list {
		if m.meta.ID == id {
			meta := m.meta
			return &meta, io.NopCloser(bytes.NewReader(m.data.Bytes())), nil
		}
	}
	return nil, nil, fmt.Errorf("open snapshot %s: not found", id)
}

func (m *memSnapshot) ID() string                  { return m.meta.ID }
func (m *memSnapshot) Write(p []byte) (int, error) { return m.data.Write(p) }
func (m *memSnapshot) Cancel() error               { return nil }

func (m *memSnapshot) Close() error {
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.kept {
		return nil
	}
	m.kept, m.meta.Size = true, int64(m.data.Len())
	s.list = slices.Insert(s.list, 0, m)
	// As on a disk: by what they hold, not by when they were made. One that is sent may be complete before an
	// older one that was begun here.
	slices.SortStableFunc(s.list, func(a, b *memSnapshot) int {
		return cmp.Or(cmp.Compare(b.meta.Term, a.meta.Term), cmp.Compare(b.meta.Index, a.meta.Index))
	})
	s.list = s.list[:min(len(s.list), 3)]
	return nil
}
