package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"vigil/fsm"
)

// loaded is the snapshot that a server starts from; zero when there is none.
type loaded struct {
	state       *fsm.State
	index, term uint64
}

// loadSnapshot loads the newest snapshot that is whole and makes raft see only
// that one. One that is damaged does no harm when the log holds all that it held;
// else the server has lost what it had acknowledged, and may not go on as an older
// self (law L8), nor as a new server.
func (r *Replica) loadSnapshot() (loaded, error) {
	var metas []*raft.SnapshotMeta
	err := r.onDisk("list snapshots", 0, func() (err error) { metas, err = r.snaps.List(); return err })
	if err != nil {
		return loaded{}, diskError("list snapshots", err)
	}
	names, err := r.snapshotNames()
	if err != nil {
		return loaded{}, err
	}
	from, bad := loaded{state: fsm.New()}, map[string]bool{}
	for _, meta := range metas {
		s, err := r.readSnapshot(meta)
		if err == nil {
			from = loaded{s, meta.Index, meta.Term}
			break
		}
		if errors.Is(err, fsm.ErrNewer) {
			return loaded{}, err
		}
		r.log.Error("snapshot is damaged, trying the one before", "snapshot", meta.ID, "error", err)
		bad[meta.ID] = true
		names = append(names, meta.ID)
	}
	first, err := r.store.FirstIndex()
	if err != nil {
		return loaded{}, err
	}
	last, err := r.store.LastIndex()
	if err != nil {
		return loaded{}, err
	}
	for _, name := range names {
		if index, ok := snapshotIndex(name); ok && index > from.index && (first == 0 || first > from.index+1 || last < index) {
			return loaded{}, fmt.Errorf("load data: %w: snapshot %s cannot be read, and the log does not hold what was in it: %s",
				ErrDamaged, filepath.Join(r.snapshotDir(), name), remedy)
		}
	}
	if last > from.index && first > from.index+1 {
		return loaded{}, fmt.Errorf("load data: %w: no good snapshot reaches the log, which begins at entry %d: %s", ErrDamaged, first, remedy)
	}
	if len(bad) > 0 {
		r.snaps = &goodSnapshots{SnapshotStore: r.snaps, bad: bad}
	}
	return from, nil
}

func (r *Replica) snapshotDir() string { return filepath.Join(r.cfg.DataDir, "snapshots") }

// snapshotNames lists the snapshots by what is on the disk: raft's store passes over
// one whose description it cannot read.
func (r *Replica) snapshotNames() (names []string, err error) {
	if r.dir == nil {
		return nil, nil
	}
	var list []os.DirEntry
	err = r.onDisk("list snapshots", 0, func() (err error) { list, err = os.ReadDir(r.snapshotDir()); return err })
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, diskError("list snapshots", err)
	}
	for _, e := range list {
		if e.IsDir() && !strings.HasSuffix(e.Name(), ".tmp") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// snapshotIndex reads the entry that a snapshot reaches from its name, which raft
// makes of term, index and time.
func snapshotIndex(name string) (index uint64, ok bool) {
	var term, ms uint64
	n, err := fmt.Sscanf(name, "%d-%d-%d", &term, &index, &ms)
	return index, err == nil && n == 3
}

func (r *Replica) readSnapshot(meta *raft.SnapshotMeta) (s *fsm.State, err error) {
	if index, ok := snapshotIndex(meta.ID); r.dir != nil && (!ok || index != meta.Index) {
		return nil, fmt.Errorf("%w: its description is of entry %d", ErrDamaged, meta.Index)
	}
	var rc io.ReadCloser
	err = r.onDisk("open snapshot", meta.Size, func() (err error) { _, rc, err = r.snaps.Open(meta.ID); return err })
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	defer rc.Close()
	return fsm.Load(bufio.NewReaderSize(watchedReader{r, rc}, 1<<20))
}

// watchedReader is a snapshot each of whose reads has the deadline of the disk.
type watchedReader struct {
	r  *Replica
	in io.Reader
}

func (w watchedReader) Read(p []byte) (n int, err error) {
	err = w.r.onDisk("read snapshot", int64(len(p)), func() error { n, err = w.in.Read(p); return err })
	return n, err
}

// goodSnapshots hides damaged snapshots from raft.
type goodSnapshots struct {
	raft.SnapshotStore
	bad map[string]bool
}

func (s *goodSnapshots) List() ([]*raft.SnapshotMeta, error) {
	metas, err := s.SnapshotStore.List()
	return slices.DeleteFunc(metas, func(m *raft.SnapshotMeta) bool { return s.bad[m.ID] }), err
}
