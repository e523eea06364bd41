package noun

import (
	"fmt"
	"strings"
)

// Majority gives the hash that more than half of the voters have reported.
func (m *MarkReport) Majority() (hash string, decided bool) {
	votes := map[string]int{}
	for _, h := range m.Hashes {
		votes[h.Value]++
	}
	for _, h := range m.Hashes { // in order of arrival: map order must not matter
		if votes[h.Value]*2 > len(m.Voters) {
			return h.Value, true
		}
	}
	return "", false
}

// Text lists which servers have reported which hash, by their first bytes.
func (m *MarkReport) Text() string {
	var list []string
	for _, h := range m.Hashes {
		list = append(list, fmt.Sprintf("%s=%x", h.Key, h.Value[:min(4, len(h.Value))]))
	}
	return strings.Join(list, " ")
}

// Tombstone remembers a deleted room, so that whoever asks is told who deleted it.
type Tombstone struct {
	Room string
	By   string
	At   Wall
}

// Stint is one leader's time in office.
type Stint struct {
	Term    uint64
	Server  string
	APIAddr string
}

// MarkReport gathers the hashes of the state at one Mark.
type MarkReport struct {
	Index  uint64
	Voters []string
	Hashes []KV // server id, hash
}

// Server is what a server says of itself.
type Server struct {
	ID, APIAddr, RaftAddr, Version string
	Features                       uint32
	GossipAddr                     string // empty: it does not gossip
	Zone                           string // what fails together: a rack, a building; empty: not said
}
