package logstore

import (
	"encoding/binary"
	"fmt"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// seenSegment is a segment that was checked.
type seenSegment struct {
	name     string
	base     uint64 // the entry that offsets[0] is of
	min, max uint64 // entries that count
	offsets  []uint32
}

// see keeps what a check has found, for whoever only looks.
func (s *segments) see(info *types.SegmentInfo, offsets []uint32, last uint64) {
	if s.looks && last > 0 {
		s.seen = append(s.seen, seenSegment{segment.FileName(*info), info.BaseIndex, info.MinIndex, last, offsets})
	}
}

// seenSegments reads entries from segments without the library, which would mend and delete.
type seenSegments struct {
	*segments
	name string // of the segment that data is of
	data []byte
}

// FirstIndex implements raft.LogStore.
func (s *seenSegments) FirstIndex() (uint64, error) {
	if len(s.seen) == 0 {
		return 0, nil
	}
	return s.seen[0].min, nil
}

// LastIndex implements raft.LogStore.
func (s *seenSegments) LastIndex() (uint64, error) {
	if len(s.seen) == 0 {
		return 0, nil
	}
	return s.seen[len(s.seen)-1].max, nil
}

// GetLog implements raft.LogStore.
func (s *seenSegments) GetLog(index uint64, l *raft.Log) error {
	for i := range s.seen {
		if g := &s.seen[i]; index >= g.min && index <= g.max {
			return s.entry(g, index, l)
		}
	}
	return raft.ErrLogNotFound
}

func (s *seenSegments) entry(g *seenSegment, index uint64, l *raft.Log) (err error) {
	if s.name != g.name {
		if s.data, err = s.read(g.name); err != nil {
			return err
		}
		s.name = g.name
	}
	at := int(g.offsets[index-g.base])
	if at+frameHeader > len(s.data) {
		return fmt.Errorf("%s ends within", g.name)
	}
	n := int(binary.LittleEndian.Uint32(s.data[at+4:]))
	if at += frameHeader; n > len(s.data)-at {
		return fmt.Errorf("%s ends within", g.name)
	}
	return (&wal.BinaryCodec{}).Decode(s.data[at:at+n], l)
}

// StoreLog implements raft.LogStore.
func (s *seenSegments) StoreLog(*raft.Log) error { return errLooks }

// StoreLogs implements raft.LogStore.
func (s *seenSegments) StoreLogs([]*raft.Log) error { return errLooks }

// DeleteRange implements raft.LogStore.
func (s *seenSegments) DeleteRange(uint64, uint64) error { return errLooks }
