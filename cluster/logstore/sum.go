package logstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"syscall"

	"github.com/hashicorp/raft"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A sum is eight bytes: sumMark, then the CRC-32C of what it guards, little endian.
// That of a log entry is stored as the entry's Extensions, which nothing else uses;
// that of a value of the stable store is appended to it. Versions that knew no sums
// read past both. They wrote entries without Extensions, and values that end in text
// or are eight bytes long, so what they wrote cannot be taken for something else.
var sumMark = [4]byte{0xff, 0x00, 'v', 0x01}

const sumBytes = 8

// summedStore adds a checksum to all that is written to a log store and looks at it
// whenever something is read: an entry that the disk has changed must neither be
// applied nor sent to another server. What a version without sums wrote is read as
// it is.
type summedStore struct {
	raft.LogStore
	stable   raft.StableStore
	path     string // of the log, named in errors
	stableIn string // the file of term and vote, as well; empty: path
}

func entrySum(l *raft.Log) uint32 {
	var head [17]byte
	binary.LittleEndian.PutUint64(head[0:], l.Index)
	binary.LittleEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
}

func (s *summedStore) damaged(what, why string) error {
	return fmt.Errorf("%s in %s: %w: %s: %s", what, s.path, ErrDamaged, why, remedy)
}

// damagedValue is damaged, of a value of the stable store.
func (s *summedStore) damagedValue(what, why string) error {
	return fmt.Errorf("%s in %s: %w: %s: %s", what, cmp.Or(s.stableIn, s.path), ErrDamaged, why, remedy)
}

func (s *summedStore) GetLog(index uint64, l *raft.Log) error {
	*l = raft.Log{} // what is not decoded must not stay from another entry
	var disk syscall.Errno
	switch err := s.LogStore.GetLog(index, l); {
	case errors.Is(err, raft.ErrLogNotFound), errors.As(err, &disk):
		return err
	case err != nil:
		return s.damaged(fmt.Sprintf("entry %d", index), err.Error())
	}
	if err := s.verify(index, l); err != nil {
		return err
	}
	l.Extensions = nil
	return nil
}

func (s *summedStore) verify(index uint64, l *raft.Log) error {
	switch sum := l.Extensions; {
	case l.Index != index:
		return s.damaged(fmt.Sprintf("entry %d", index), fmt.Sprintf("it says that it is entry %d", l.Index))
	case len(sum) == 0:
		return nil // of a version without sums
	case len(sum) != sumBytes || [4]byte(sum) != sumMark || binary.LittleEndian.Uint32(sum[4:]) != entrySum(l):
		return s.damaged(fmt.Sprintf("entry %d", index), "its checksum is wrong")
	}
	return nil
}

func (s *summedStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *summedStore) StoreLogs(logs []*raft.Log) error {
	copies, list := make([]raft.Log, len(logs)), make([]*raft.Log, len(logs))
	sums := make([]byte, 0, sumBytes*len(logs))
	for i, l := range logs {
		at := len(sums)
		sums = binary.LittleEndian.AppendUint32(append(sums, sumMark[:]...), entrySum(l))
		copies[i], list[i] = *l, &copies[i] // raft goes on using its own
		copies[i].Extensions = sums[at:]
	}
	return s.LogStore.StoreLogs(list)
}

func valueSum(k, v []byte) uint32 {
	return crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, v)
}

// Set stores a value and its sum in one write.
func (s *summedStore) Set(k, v []byte) error {
	out := append(append(make([]byte, 0, len(v)+sumBytes), v...), sumMark[:]...)
	return s.stable.Set(k, binary.LittleEndian.AppendUint32(out, valueSum(k, v)))
}

func (s *summedStore) Get(k []byte) ([]byte, error) {
	v, err := s.stable.Get(k)
	if err != nil {
		return nil, err
	}
	if n := len(v) - sumBytes; n >= 0 && [4]byte(v[n:]) == sumMark {
		if binary.LittleEndian.Uint32(v[n+4:]) != valueSum(k, v[:n]) {
			return nil, s.damagedValue(string(k), "its checksum is wrong")
		}
		return v[:n], nil
	}
	if len(v) == 8 {
		return v, nil // a number of a version without sums
	}
	for _, c := range v {
		if c < ' ' || c >= 0x7f {
			return nil, s.damagedValue(string(k), "it is neither a number nor a server's name")
		}
	}
	return v, nil
}

func (s *summedStore) SetUint64(k []byte, n uint64) error {
	return s.Set(k, binary.BigEndian.AppendUint64(nil, n))
}

func (s *summedStore) GetUint64(k []byte) (uint64, error) {
	v, err := s.Get(k)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, s.damagedValue(string(k), "it is no number")
	}
	return binary.BigEndian.Uint64(v), nil
}
