package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// Of raft-wal's file format, version 0.
const (
	segmentMagic  = 0x58eb6b0d
	segmentHeader = 32
	frameHeader   = 8 // all frames begin at a multiple of it
	segmentCodec  = 1
)

// segmentName reads the name of a segment's file; false: it is none.
func segmentName(name string) (base, id uint64, ok bool) {
	n, err := fmt.Sscanf(name, "%020d-%016x.wal", &base, &id)
	return base, id, err == nil && n == 2 && name == segment.FileName(types.SegmentInfo{BaseIndex: base, ID: id})
}

// segmentScan is what a segment's file holds.
type segmentScan struct {
	offsets []uint32 // of its entries
	index   uint64   // where the list of the offsets begins; 0: none, the segment is not sealed
	end     int      // behind the last write that is whole; 0: none is
	torn    bool     // there is something behind that
}

// scanSegment reads a segment from begin to end. The library takes the first frame that makes no sense for
// the end of what was written, so damage in the middle would cut off what was acknowledged. Here only
// the very last write may be torn: what a crash interrupted was not acknowledged. Damage of
// the last write looks the same.
func scanSegment(data []byte, info types.SegmentInfo) (s segmentScan, err error) {
	for {
		b, ok := readWrite(data, s.end)
		if !ok {
			break
		}
		if s.end == 0 {
			if err := checkSegmentHeader(data, info); err != nil {
				return s, err
			}
		}
		if s.index > 0 {
			return s, fmt.Errorf("it goes on behind its index, at byte %d", s.end)
		}
		s.offsets, s.index = append(s.offsets, b.offsets...), b.index
		s.end = b.end
		if b.index > 0 && !listed(data[b.index:b.end-frameHeader], s.offsets) {
			return s, errors.New("its index is not the one of its entries")
		}
	}
	at, clear := behind(data, s.end)
	if !clear {
		return s, fmt.Errorf("what was written at byte %d is damaged, and what was written later, at byte %d, is there",
			s.end, at)
	}
	for _, c := range data[s.end:] {
		if c != 0 {
			s.torn = true
			break
		}
	}
	return s, nil
}

func checkSegmentHeader(data []byte, info types.SegmentInfo) error {
	order := binary.LittleEndian
	switch {
	case order.Uint64(data) != segmentMagic: // with the version, which is 0
		return errors.New("it is no segment of this version")
	case order.Uint64(data[8:]) != info.BaseIndex, order.Uint64(data[16:]) != info.ID,
		order.Uint64(data[24:]) != info.Codec:
		return fmt.Errorf("it says that it is segment %x from entry %d on", order.Uint64(data[16:]), order.Uint64(data[8:]))
	}
	return nil
}

// listed tells whether an index lists the offsets, and no more.
func listed(list []byte, offsets []uint32) bool {
	if len(list) != (len(offsets)*4+frameHeader-1)/frameHeader*frameHeader {
		return false
	}
	for i, o := range offsets {
		if binary.LittleEndian.Uint32(list[i*4:]) != o {
			return false
		}
	}
	return true
}

// oneWrite is what was written at once: frames, the last of which holds the checksum of the others.
type oneWrite struct {
	offsets []uint32
	index   uint64
	end     int // behind it
	read    int // how many bytes were looked at
}

// readWrite reads what was written at once from a place on; false: it is not whole. The first write
// begins with the header of the file.
func readWrite(data []byte, from int) (w oneWrite, ok bool) {
	at := from
	if from == 0 {
		at = segmentHeader
	}
	for at+frameHeader <= len(data) {
		frame := data[at:]
		if frame[1]|frame[2]|frame[3] != 0 {
			break
		}
		n := binary.LittleEndian.Uint32(frame[4:])
		switch frame[0] {
		case segment.FrameEntry:
			w.offsets = append(w.offsets, uint32(at))
		case segment.FrameIndex:
			if w.index > 0 {
				w.read = at - from
				return w, false
			}
			w.index = uint64(at + frameHeader)
		case segment.FrameCommit:
			w.end, w.read = at+frameHeader, at-from
			return w, (w.index > 0 || len(w.offsets) > 0) && crc32.Checksum(data[from:at], castagnoli) == n
		default:
			w.read = at - from
			return w, false
		}
		if n > segment.MaxEntrySize {
			break
		}
		at += frameHeader + (int(n)+frameHeader-1)/frameHeader*frameHeader
	}
	w.read = min(at, len(data)) - from
	return w, false
}

// behind looks for a whole write behind the place of one that is not, and gives where it is. Entries
// hold what strangers wrote, so it gives up when it had to read too much: then all that is sure is that the
// file is not clear.
func behind(data []byte, from int) (at int, clear bool) {
	budget := 16*len(data) + 1<<20
	for at = max(from+frameHeader, segmentHeader); at+frameHeader < len(data); at += frameHeader {
		if data[at] != segment.FrameEntry && data[at] != segment.FrameIndex {
			continue
		}
		w, ok := readWrite(data, at)
		if ok {
			return at, false
		}
		if budget -= w.read; budget < 0 {
			return at, false
		}
	}
	return 0, true
}
