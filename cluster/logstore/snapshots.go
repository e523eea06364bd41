package logstore

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/fsm"
)

// Snapshots hides from raft snapshots that are damaged or never were, and leaves nothing of those that could not be
// written.
type Snapshots struct {
	raft.SnapshotStore
	dir  string // empty when they are not files
	disk Disk
	log  hclog.Logger

	// hidden are those that are not to be loaded, true for damaged; written before raft runs.
	hidden map[string]bool
	// note is called before a snapshot is begun, mu is held; nil: it is not.
	note func(index, term uint64) error

	mu     sync.Mutex
	drafts map[string]bool // folders of those that are being written
}

// List gives the snapshots that are whole, the newest first.
func (s *Snapshots) List() ([]*raft.SnapshotMeta, error) {
	metas, err := s.SnapshotStore.List()
	return slices.DeleteFunc(metas, func(m *raft.SnapshotMeta) bool { _, is := s.hidden[m.ID]; return is }), err
}

// Open implements raft.SnapshotStore; see Reaches.
func (s *Snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, rc, err := s.SnapshotStore.Open(id)
	if err != nil {
		return nil, nil, err
	}
	return meta, &openSnapshot{rc, meta.Index, meta.Term}, nil
}

// openSnapshot knows what it is a snapshot of.
type openSnapshot struct {
	io.ReadCloser
	index, term uint64
}

// Reaches tells with which entry a snapshot ends that Snapshots.Open gave, also from within what raft puts
// around it; false: it is none.
func Reaches(rc io.ReadCloser) (index, term uint64, ok bool) {
	for {
		switch in := rc.(type) {
		case *openSnapshot:
			return in.index, in.term, true
		case raft.ReadCloserWrapper:
			rc = in.WrappedReadCloser()
		default:
			return 0, 0, false
		}
	}
}

// load loads the newest snapshot that is whole and makes raft see only
// that one. One that is damaged does no harm when the log holds all that it held;
// else the server has lost what it had acknowledged, and may not go on as an older
// self (law L8), nor as a new server.
func (d *Data) load() error {
	s := d.Snapshots
	var metas []*raft.SnapshotMeta
	err := s.disk.Do("list snapshots", 0, func() (err error) { metas, err = s.List(); return err })
	if err != nil {
		return Failed("list snapshots", err)
	}
	names, err := s.names()
	if err != nil {
		return err
	}
	if err := d.loadAhead(metas); err != nil {
		return err
	}
	d.State, s.hidden = fsm.New(), map[string]bool{}
	for _, meta := range metas {
		if d.dropped(meta) {
			s.log.Warn("snapshot is passed over: this server ended before it went on from it", "snapshot", meta.ID)
			s.hidden[meta.ID] = false
			names = slices.DeleteFunc(names, func(name string) bool { return name == meta.ID })
			continue
		}
		state, err := s.read(meta)
		if err == nil {
			d.State, d.Index, d.Term = state, meta.Index, meta.Term
			break
		}
		if errors.Is(err, fsm.ErrNewer) {
			return err
		}
		s.log.Error("snapshot is damaged, trying the one before", "snapshot", meta.ID, "error", err)
		s.hidden[meta.ID] = true
		names = append(names, meta.ID)
	}
	first, err := d.Log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := d.Log.LastIndex()
	if err != nil {
		return err
	}
	for _, name := range names {
		if index, ok := snapshotIndex(name); ok && index > d.Index &&
			(first == 0 || first > d.Index+1 || last < index) {
			return fmt.Errorf("load data: %w: snapshot %s cannot be read, and the log does not hold what was in it: %s",
				ErrDamaged, filepath.Join(s.dir, name), remedy)
		}
	}
	if last > d.Index && first > d.Index+1 {
		return fmt.Errorf("load data: %w: no good snapshot reaches the log, which begins at entry %d: %s",
			ErrDamaged, first, remedy)
	}
	return nil
}

// names lists the snapshots by what is on the disk: raft's store passes over
// one whose description it cannot read.
func (s *Snapshots) names() (names []string, err error) {
	if s.dir == "" {
		return nil, nil
	}
	var list []os.DirEntry
	err = s.disk.Do("list snapshots", 0, func() (err error) { list, err = os.ReadDir(s.dir); return err })
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, Failed("list snapshots", err)
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

func (s *Snapshots) read(meta *raft.SnapshotMeta) (state *fsm.State, err error) {
	if index, ok := snapshotIndex(meta.ID); s.dir != "" && (!ok || index != meta.Index) {
		return nil, fmt.Errorf("%w: its description is of entry %d", ErrDamaged, meta.Index)
	}
	var rc io.ReadCloser
	err = s.disk.Do("open snapshot", meta.Size, func() (err error) { _, rc, err = s.Open(meta.ID); return err })
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	defer rc.Close()
	return fsm.Load(bufio.NewReaderSize(watchedReader{s.disk, rc}, 1<<20))
}

// watchedReader is a snapshot each of whose reads has the deadline of the disk.
type watchedReader struct {
	disk Disk
	in   io.Reader
}

func (w watchedReader) Read(p []byte) (n int, err error) {
	err = w.disk.Do("read snapshot", int64(len(p)), func() error { n, err = w.in.Read(p); return err })
	return n, err
}
