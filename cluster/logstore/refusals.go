package logstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"
)

// keyRefusals is where raft.db says which entries of the log are read as others.
var keyRefusals = []byte("Refusals")

// Refusal has an entry of the log read as another one, since it cannot be applied. The log itself stays as it
// is, and what another server is sent is what is read.
type Refusal struct {
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	Sum   string `json:"sum"`  // SHA-256 of what the entry holds, in hexadecimal digits
	Data  []byte `json:"data"` // what is read in its place

	// Agreed says that every other server has been heard: none has applied the entry. Lost are those that
	// an operator has said are gone for good.
	Agreed bool     `json:"agreed,omitempty"`
	Lost   []string `json:"lost,omitempty"`
}

// Sum is the SHA-256 of what an entry holds, in hexadecimal digits.
func Sum(l *raft.Log) string {
	sum := sha256.Sum256(l.Data)
	return hex.EncodeToString(sum[:])
}

// Refusals are those of this server, by index.
func (s *Log) Refusals() []Refusal {
	if list := s.refusals.Load(); list != nil {
		return slices.Clone(*list)
	}
	return nil
}

// count has these refusals count from now on.
func (s *Log) count(list []Refusal) {
	if list = slices.Clone(list); len(list) == 0 {
		s.refusals.Store(nil)
		return
	}
	s.refusals.Store(&list)
}

// SetRefusals writes down, durably, which entries are refused. It is not called while raft runs.
func (s *Log) SetRefusals(list []Refusal) error {
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("describe refusals: %w", err)
	}
	err = s.guard("write refusals", func() error { return s.in.Set(keyRefusals, text) })
	if err == nil {
		s.count(list)
	}
	return err
}

// loadRefusals reads what SetRefusals wrote, before anything else is read from the log.
func (s *Log) loadRefusals() error {
	list, err := readRefusals(s.in)
	if err == nil {
		s.count(list)
	}
	return err
}

func readRefusals(in *summedStore) (list []Refusal, err error) {
	text, err := in.Get(keyRefusals)
	switch {
	case noKey(err):
		return nil, nil
	case err != nil:
		return nil, Failed("read refusals", err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, in.damagedValue(string(keyRefusals), err.Error())
	}
	return list, nil
}

// Raw reads an entry as it was written, also one that is refused.
func (s *Log) Raw(index uint64) (raft.Log, error) { return s.read(index) }

// refused puts in what is read in the place of an entry that is refused. An entry of another term is another
// entry: the one that was refused was never agreed on.
func (s *Log) refused(l *raft.Log) error {
	list := s.Refusals()
	at := slices.IndexFunc(list, func(r Refusal) bool { return r.Index == l.Index })
	if at < 0 || list[at].Term != l.Term || bytes.Equal(list[at].Data, l.Data) {
		return nil
	}
	if r := &list[at]; Sum(l) != r.Sum {
		return s.in.damaged(fmt.Sprintf("entry %d", l.Index),
			"another entry of its term is said to be refused, with SHA-256 "+r.Sum)
	}
	l.Data = list[at].Data
	return nil
}
