package logstore

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/raft-wal/types"
)

// keySegments is where raft.db describes the segments.
var keySegments = []byte("LogSegments")

// segmentMeta keeps the description of the segments beside term and vote, with a checksum, so one
// check and one file guard all of them. The library's own file has no checksums in its values.
type segmentMeta struct{ fs *segmentFS }

// read gives the description; false: there is none.
func (m *segmentMeta) read() (state types.PersistentState, known bool, err error) {
	var v []byte
	err = m.fs.do("read list of log segments", func() (err error) { v, err = m.fs.stable.Get(keySegments); return err })
	if err != nil {
		if noKey(err) {
			return state, false, nil
		}
		return state, false, err
	}
	if err := json.Unmarshal(v, &state); err != nil {
		return state, false, m.fs.stable.damagedValue(string(keySegments), err.Error())
	}
	return state, true, nil
}

// Load implements types.MetaStore.
func (m *segmentMeta) Load(string) (types.PersistentState, error) {
	state, _, err := m.read()
	return state, err
}

// CommitState implements types.MetaStore: the description is durable when it returns.
func (m *segmentMeta) CommitState(state types.PersistentState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("describe log segments: %w", err)
	}
	return m.fs.do("write list of log segments", func() error { return m.fs.stable.Set(keySegments, text) })
}

var errNotHere = errors.New("term and vote are not kept with the segments")

// GetStable implements types.MetaStore; raft has another stable store.
func (m *segmentMeta) GetStable([]byte) ([]byte, error) { return nil, errNotHere }

// SetStable implements types.MetaStore; raft has another stable store.
func (m *segmentMeta) SetStable([]byte, []byte) error { return errNotHere }

// Close implements types.MetaStore; Dir closes the file.
func (m *segmentMeta) Close() error { return nil }
