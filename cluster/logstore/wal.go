package logstore

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// segments is a log in a folder of segments, which raft-wal writes and reads. It is checked and mended
// before the library sees it; see scanSegment.
type segments struct {
	path string // of the folder
	fs   *segmentFS
	meta *segmentMeta
	log  hclog.Logger
	size int // of a segment

	looks bool // nothing is mended
	torn  bool // and this is what would have been: the last write was interrupted
	seen  []seenSegment
}

func (d *Dir) segments(stable *summedStore, logger hclog.Logger) *segments {
	fs := &segmentFS{disk: d.disk, stable: stable}
	return &segments{path: d.walFolder(), fs: fs, meta: &segmentMeta{fs}, log: logger.Named("log"), size: d.size}
}

// open checks the log and opens it, or makes it. It gives the entries that it holds. Old says that it must
// be there.
func (s *segments) open(old bool) (*wal.WAL, []span, error) {
	if err := s.fs.disk.Do("make log folder", 0, func() error {
		if err := os.MkdirAll(s.path, 0o700); err != nil {
			return err
		}
		return syncDir(filepath.Dir(s.path))
	}); err != nil {
		return nil, nil, Failed("make log folder", err)
	}
	entries, err := s.check(old)
	if err != nil {
		return nil, nil, err
	}
	var w *wal.WAL
	err = s.fs.disk.Do("open log", int64(s.size), func() (err error) {
		w, err = wal.Open(s.path, wal.WithMetaStore(s.meta), wal.WithSegmentFiler(segment.NewFiler(s.path, s.fs)),
			wal.WithSegmentSize(s.size), wal.WithLogger(s.log))
		return err
	})
	if err != nil {
		return nil, nil, Failed("open log", err)
	}
	s.fs.open.Store(true)
	return w, entries, nil
}

func (s *segments) damaged(format string, args ...any) error {
	return fmt.Errorf("check %s: %w: %s: %s", s.path, ErrDamaged, fmt.Sprintf(format, args...), remedy)
}

// check reads all segments and mends what a crash may have left: a torn last write, and a segment
// that is full and was not followed by the next one yet (the library would refuse all writes then).
func (s *segments) check(old bool) ([]span, error) {
	state, known, err := s.meta.read()
	if err != nil {
		return nil, Failed("check log", err)
	}
	files, err := s.files()
	switch {
	case err != nil:
		return nil, err
	case !known && len(files) > 0:
		return nil, s.damaged("nothing describes its segments")
	case !known && old:
		return nil, s.damaged("the log is gone, and this server has taken part in a cluster")
	case !known:
		return nil, nil
	}
	if err := s.checkList(&state, files); err != nil {
		return nil, err
	}
	var all span
	for i := range state.Segments {
		info := &state.Segments[i]
		last, err := s.checkSegment(info, files[info.ID])
		if err != nil {
			return nil, err
		}
		if last == 0 {
			continue // the tail has none yet
		}
		if all.from == 0 {
			all.from = info.MinIndex
		}
		all.to = last
	}
	if err := s.followFull(&state); err != nil {
		return nil, err
	}
	if all.to == 0 {
		return nil, nil
	}
	return []span{all}, nil
}

// files lists the segments that are there, by their id.
func (s *segments) files() (map[uint64]string, error) {
	var names []string
	err := s.fs.disk.Do("list log segments", 0, func() (err error) { names, err = s.fs.ListDir(s.path); return err })
	if err != nil {
		return nil, Failed("list log segments", err)
	}
	files := map[uint64]string{}
	for _, name := range names {
		_, id, ok := segmentName(name)
		if !ok || files[id] != "" {
			return nil, s.damaged("%s does not belong there", name)
		}
		files[id] = name
	}
	return files, nil
}

// checkList looks whether the description makes sense and the files are those that it names, or
// once named: such a one is left when a crash comes before it is deleted, and the library deletes it.
func (s *segments) checkList(state *types.PersistentState, files map[uint64]string) error {
	next := uint64(0)
	for i, info := range state.Segments {
		sealed := !info.SealTime.IsZero()
		switch {
		case info.ID >= state.NextSegmentID, info.Codec != segmentCodec, info.BaseIndex == 0,
			info.MinIndex < info.BaseIndex, i > 0 && (info.BaseIndex != next || info.MinIndex != info.BaseIndex),
			sealed != (i < len(state.Segments)-1), sealed && info.MaxIndex < info.MinIndex:
			return s.damaged("the description of its segments makes no sense at segment %x", info.ID)
		}
		next = info.MaxIndex + 1
	}
	for id, name := range files {
		if id >= state.NextSegmentID {
			return s.damaged("%s is there, and nothing has ever described it", name)
		}
	}
	return nil
}

// checkSegment reads a segment and gives its last entry; 0: it has none yet. When it is the last one and
// full, the description is completed.
func (s *segments) checkSegment(info *types.SegmentInfo, name string) (last uint64, err error) {
	sealed, want := !info.SealTime.IsZero(), segment.FileName(*info)
	if name != want {
		made, err := s.lastMade()
		if err != nil {
			return 0, err
		}
		if sealed || name != "" || made == info.ID || info.MinIndex > info.BaseIndex {
			return 0, s.damaged("%s is gone", want)
		}
		return 0, nil // a crash came before it was made
	}
	data, err := s.read(name)
	if err != nil {
		return 0, err
	}
	scan, err := scanSegment(data, *info)
	if err != nil {
		return 0, s.damaged("%s: %v", name, err)
	}
	n := uint64(len(scan.offsets))
	if sealed {
		if scan.index == 0 || scan.index != info.IndexStart || info.MaxIndex-info.BaseIndex >= n {
			return 0, s.damaged("%s holds %d entries, and its end is damaged", name, n)
		}
		s.see(info, scan.offsets, info.MaxIndex)
		return info.MaxIndex, nil
	}
	if info.MinIndex > info.BaseIndex && info.MinIndex-info.BaseIndex >= n {
		return 0, s.damaged("%s ends before entry %d, which was there", name, info.MinIndex)
	}
	if err := s.cutTorn(name, &scan, info); err != nil {
		return 0, err
	}
	if scan.index > 0 {
		info.SealTime, info.IndexStart, info.MaxIndex = time.Now(), scan.index, info.BaseIndex+n-1
	}
	if n == 0 {
		return 0, nil
	}
	s.see(info, scan.offsets, info.BaseIndex+n-1)
	return info.BaseIndex + n - 1, nil
}

// lastMade gives the id of the segment whose file was made last; all ones: none was.
func (s *segments) lastMade() (id uint64, err error) {
	err = s.fs.do("read last log segment", func() (err error) { id, err = s.fs.stable.GetUint64(keySegment); return err })
	switch {
	case err == nil:
		return id, nil
	case noKey(err):
		return ^uint64(0), nil
	}
	return 0, Failed("check log", err)
}

func (s *segments) read(name string) (data []byte, err error) {
	path, verb := filepath.Join(s.path, name), "read log segment"
	var size int64
	err = s.fs.disk.Do(verb, 0, func() error {
		info, err := os.Stat(path)
		if err == nil {
			size = info.Size()
		}
		return err
	})
	if err == nil && size >= 1<<32 {
		return nil, s.damaged("%s has %d bytes", name, size)
	}
	if err == nil {
		err = s.fs.disk.Do(verb, size, func() (err error) { data, err = os.ReadFile(path); return err })
	}
	if err != nil {
		return nil, Failed(verb, err)
	}
	return data, nil
}

// cutTorn takes away what is left of a write that a crash interrupted. The library would leave it behind
// the end, where it could be taken for frames once less than it was written over it.
func (s *segments) cutTorn(name string, scan *segmentScan, info *types.SegmentInfo) error {
	if s.torn = scan.torn; !scan.torn || s.looks {
		return nil
	}
	s.log.Warn("the last write to the log was interrupted, it was not acknowledged", "segment", name, "at", scan.end)
	err := s.fs.disk.Do("mend log segment", 0, func() error {
		f, err := os.OpenFile(filepath.Join(s.path, name), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if err = f.Truncate(int64(scan.end)); err == nil {
			err = preallocate(f, int64(info.SizeLimit))
		}
		if err == nil {
			err = f.Sync()
		}
		return err
	})
	if err != nil {
		return Failed("mend log segment", err)
	}
	return nil
}

// followFull describes the segment that follows a full last one.
func (s *segments) followFull(state *types.PersistentState) error {
	n := len(state.Segments)
	if n == 0 || s.looks || state.Segments[n-1].SealTime.IsZero() {
		return nil
	}
	next := state.Segments[n-1].MaxIndex + 1
	state.Segments = append(state.Segments, types.SegmentInfo{ID: state.NextSegmentID, BaseIndex: next, MinIndex: next,
		Codec: segmentCodec, CreateTime: time.Now(), SizeLimit: uint32(s.size)})
	state.NextSegmentID++
	if err := s.meta.CommitState(*state); err != nil {
		return Failed("check log", err)
	}
	return nil
}
