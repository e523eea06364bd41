//go:build linux

package nemesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"vigil/jepsen/disk"
	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// The files of a server, below its data directory.
const (
	logFile       = "raft.db"
	logSegments   = "wal/*.wal"
	snapshotFiles = "snapshots/*/state.bin"
)

// logFlipped damages an entry of a server's log. Going on with it would be a silent
// loss, or worse: another history.
var logFlipped = onServer(upToDate, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	defer t.Begin(history.Killed, sv.Name)()
	defer t.Begin(history.Disk, sv.Name)()
	if err := sv.Kill(); err != nil {
		return "", err
	}
	entry, spots, err := entryBits(sv.Disk().Store(), r)
	if err != nil {
		return "", errors.Join(err, sv.Start())
	}
	if len(spots) == 0 {
		return "its log had no entry with a checksum", sv.Start()
	}
	for _, spot := range spots {
		if err := sv.Disk().Flip(spot); err != nil {
			return "", err
		}
	}
	note := fmt.Sprintf("bit %d of byte %d of entry %d", spots[0].Bit, spots[0].At, entry)
	went, err := f.goesOn(ctx, sv)
	if err == nil && went {
		err = fmt.Errorf("server %s goes on with a damaged log: %s of %s was turned over", sv.Name, note, spots[0].Path)
	}
	if err != nil {
		return note, errors.Join(err, f.rejoin(sv))
	}
	return note + ", it refused", f.rejoin(sv)
})

// entryBits picks a bit of an entry with a checksum that is in the log. It is at several places when
// older copies of the entry are in free pages.
func entryBits(store string, r *rand.Rand) (entry uint64, spots []disk.Spot, err error) {
	if list, err := filepath.Glob(filepath.Join(store, logSegments)); err != nil || len(list) > 0 {
		return segmentBits(store, r)
	}
	data, err := os.ReadFile(filepath.Join(store, logFile))
	if err != nil {
		return 0, nil, fmt.Errorf("read log: %w", err)
	}
	folder, err := os.MkdirTemp("", "log") // bolt writes when it opens a file
	if err != nil {
		return 0, nil, fmt.Errorf("copy log: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, logFile), data, 0o600); err != nil {
		return 0, nil, fmt.Errorf("copy log: %w", err)
	}
	db, err := raftboltdb.NewBoltStore(filepath.Join(folder, logFile))
	if err != nil {
		return 0, nil, fmt.Errorf("open copy of the log: %w", err)
	}
	defer db.Close()
	first, err := db.FirstIndex()
	if err != nil {
		return 0, nil, fmt.Errorf("read log: %w", err)
	}
	last, err := db.LastIndex()
	if err != nil {
		return 0, nil, fmt.Errorf("read log: %w", err)
	}
	if last == 0 {
		return 0, nil, nil
	}
	// From some entry on, the first that is long enough to be found in the file.
	for i := range last - first + 1 {
		var l raft.Log
		entry = first + (uint64(r.Uint32())+i)%(last-first+1)
		if err := db.GetLog(entry, &l); err != nil {
			return 0, nil, fmt.Errorf("read entry %d: %w", entry, err)
		}
		// A build without checksums has left entries that nobody can judge.
		if l.Type != raft.LogCommand || len(l.Data) < 16 || len(l.Extensions) == 0 {
			continue
		}
		at, bit := r.IntN(len(l.Data)), uint(r.IntN(8))
		for from := 0; ; {
			n := bytes.Index(data[from:], l.Data)
			if n < 0 {
				break
			}
			spots = append(spots, disk.Spot{Path: logFile, At: int64(from + n + at), Bit: bit})
			from += n + len(l.Data)
		}
		return entry, spots, nil
	}
	return 0, nil, nil
}

// goesOn starts a server with damaged data and tells whether it takes part; else it
// has ended with an error.
func (f *Field) goesOn(ctx context.Context, sv *stand.Server) (bool, error) {
	if err := sv.Start(); err != nil {
		return false, err
	}
	for end := time.Now().Add(stuckLimit); sv.Up(); {
		if st, err := f.Ask(ctx, sv); err == nil && st.GetLeader() != "" {
			return true, nil
		}
		if time.Now().After(end) {
			return false, fmt.Errorf("server %s with damaged data neither takes part nor ends", sv.Name)
		}
		if !f.Pause(ctx, 50*time.Millisecond) {
			return false, nil // the run ends: it is emptied all the same
		}
	}
	if code := sv.Process.Code(); code <= 0 {
		return false, fmt.Errorf("server %s with damaged data ended with code %d", sv.Name, code)
	}
	return false, nil
}

// rejoin empties a server and makes it a member again.
func (f *Field) rejoin(sv *stand.Server) error {
	ctx, cancel := healTime()
	defer cancel()
	if err := sv.Kill(); err != nil {
		return err
	}
	if err := f.dismiss(ctx, sv); err != nil {
		return err
	}
	return errors.Join(sv.Empty(), sv.Start(), f.admit(ctx, sv))
}

var snapshotFlipped = onServer(withSnapshot, func(ctx context.Context, f *Field, sv *stand.Server,
	r *rand.Rand, t *Touched) (string, error) {
	defer t.Begin(history.Killed, sv.Name)()
	defer t.Begin(history.Disk, sv.Name)()
	if err := sv.Kill(); err != nil {
		return "", err
	}
	spot, err := snapshotBit(sv.Disk().Store(), r)
	if err == nil && spot.Path == "" {
		err = ErrNobody // it has gone meanwhile
	}
	if err != nil {
		return "", errors.Join(err, sv.Start())
	}
	if err := sv.Disk().Flip(spot); err != nil {
		return "", err
	}
	note := fmt.Sprintf("bit %d of byte %d of %s", spot.Bit, spot.At, spot.Path)
	went, err := f.goesOn(ctx, sv)
	if err != nil {
		return note, errors.Join(err, f.rejoin(sv))
	}
	if !went {
		return note + ", it refused", f.rejoin(sv)
	}
	// The damage must not wait for a later start, when nobody expects it.
	if err := sv.Disk().Flip(spot); err != nil {
		note += ", which is gone now"
	}
	return note + ", it went on without this snapshot", nil
})

// withSnapshot picks a server that has a snapshot to damage and promises to see it.
func withSnapshot(ctx context.Context, f *Field, r *rand.Rand) *stand.Server {
	return oneOf(slices.DeleteFunc(f.current(), func(sv *stand.Server) bool {
		spot, err := snapshotBit(sv.Disk().Store(), r)
		return err != nil || spot.Path == ""
	}), r)
}

// snapshotBit picks a bit of the newest snapshot; no path: there is none.
func snapshotBit(store string, r *rand.Rand) (disk.Spot, error) {
	found, err := filepath.Glob(filepath.Join(store, snapshotFiles))
	if err != nil {
		return disk.Spot{}, fmt.Errorf("find snapshots: %w", err)
	}
	var newest os.FileInfo
	path := ""
	for _, file := range found {
		info, err := os.Stat(file)
		if err != nil {
			return disk.Spot{}, fmt.Errorf("find snapshots: %w", err)
		}
		whole := filepath.Ext(filepath.Dir(file)) != ".tmp" && info.Size() > 0
		if whole && (newest == nil || info.ModTime().After(newest.ModTime())) {
			newest, path = info, file
		}
	}
	if newest == nil {
		return disk.Spot{}, nil
	}
	path, err = filepath.Rel(store, path)
	return disk.Spot{Path: path, At: r.Int64N(newest.Size()), Bit: uint(r.IntN(8))}, err
}

// fileFlipped damages the file of a server's log anywhere: bookkeeping, entries, or
// pages that are not in use. Only the latter may go unnoticed.
var fileFlipped = onServer(upToDate, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	defer t.Begin(history.Killed, sv.Name)()
	defer t.Begin(history.Disk, sv.Name)()
	if err := sv.Kill(); err != nil {
		return "", err
	}
	info, err := os.Stat(filepath.Join(sv.Disk().Store(), logFile))
	if err != nil {
		return "", fmt.Errorf("look at log: %w", err)
	}
	n := 1 + r.IntN(64)
	for range n {
		if err := sv.Disk().Flip(disk.Spot{Path: logFile, At: r.Int64N(info.Size()),
			Bit: uint(r.IntN(8))}); err != nil {
			return "", err
		}
	}
	went, err := f.goesOn(ctx, sv)
	note := fmt.Sprintf("%d bits of %s, it refused", n, logFile)
	if went {
		note = fmt.Sprintf("%d bits of %s, it went on", n, logFile)
	}
	// What is damaged and was not noticed must not wait for a later start.
	return note, errors.Join(err, f.rejoin(sv))
})

var emptied = onServer(anyone, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
	t *Touched) (string, error) {
	span := f.Span(r, 0, 1)
	defer t.Begin(history.Killed, sv.Name)()
	defer t.Begin(history.Disk, sv.Name)()
	defer t.Begin(history.Away, sv.Name)()
	if err := errors.Join(sv.Kill(), sv.Disk().Empty()); err != nil {
		return "", err
	}
	f.Pause(ctx, span)
	return "away for " + round(span), f.rejoin(sv)
})
