package clustertest

import (
	"bytes"
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
	m.meta.Size = int64(m.data.Len())
	s.list = slices.Insert(s.list, 0, m)
	s.list = s.list[:min(len(s.list), 3)]
	return nil
}
