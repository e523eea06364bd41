package logstore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

// seenMeta is how raft describes a snapshot in a file.
type seenMeta struct {
	raft.SnapshotMeta
	CRC []byte // of the state, by ECMA
}

// List gives the snapshots whose description can be read, the newest first.
func (s *seenSnapshots) List() (list []*raft.SnapshotMeta, err error) {
	dirs, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, d := range dirs {
		if !d.IsDir() || strings.HasSuffix(d.Name(), ".tmp") {
			continue
		}
		if meta, err := s.meta(d.Name()); err == nil {
			list = append(list, &meta.SnapshotMeta)
		}
	}
	slices.SortFunc(list, func(a, b *raft.SnapshotMeta) int {
		return cmp.Or(cmp.Compare(b.Term, a.Term), cmp.Compare(b.Index, a.Index), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

func (s *seenSnapshots) meta(name string) (meta seenMeta, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, name, "meta.json"))
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	return meta, err
}

// Open reads a snapshot and its checksum.
func (s *seenSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, err := s.meta(id)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(filepath.Join(s.dir, id, "state.bin"))
	if err != nil {
		return nil, nil, err
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	if _, err = io.Copy(sum, f); err == nil && !bytes.Equal(sum.Sum(nil), meta.CRC) {
		err = fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return &meta.SnapshotMeta, f, nil
}
