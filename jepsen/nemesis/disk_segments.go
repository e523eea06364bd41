//go:build linux

package nemesis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"vigil/jepsen/disk"
)

// lastWrites are so many entries that the last write is surely among them: damage there looks like a write
// that a crash interrupted, which nobody could tell apart.
const lastWrites = 64

// segmentBits is entryBits for a log in segments. The files are only read.
func segmentBits(store string, r *rand.Rand) (entry uint64, spots []disk.Spot, err error) {
	type place struct {
		index uint64
		file  string
		data  []byte
	}
	var all []place
	folder := filepath.Dir(logSegments)
	err = segment.NewFiler(filepath.Join(store, folder), fs.New()).DumpLogs(0, 0,
		func(info types.SegmentInfo, e types.LogEntry) (bool, error) {
			var l raft.Log
			if err := (&wal.BinaryCodec{}).Decode(e.Data, &l); err != nil {
				return false, fmt.Errorf("read entry %d: %w", e.Index, err)
			}
			all = append(all, place{l.Index, filepath.Join(folder, segment.FileName(info)), l.Data})
			return true, nil
		})
	if err != nil {
		return 0, nil, fmt.Errorf("read log: %w", err)
	}
	for n := len(all) - lastWrites; n > 0; n-- {
		p := all[r.IntN(n)]
		if len(p.data) < 16 {
			continue
		}
		at, bit := r.IntN(len(p.data)), uint(r.IntN(8))
		whole, err := os.ReadFile(filepath.Join(store, p.file))
		if err != nil {
			return 0, nil, fmt.Errorf("read log: %w", err)
		}
		if from := bytes.Index(whole, p.data); from >= 0 {
			spots = append(spots, disk.Spot{Path: p.file, At: int64(from + at), Bit: bit})
		}
		return p.index, spots, nil
	}
	return 0, nil, nil
}
