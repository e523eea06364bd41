//go:build linux

package stand

import (
	"errors"
	"fmt"
	"strings"
)

// Cut says which packets of a machine are dropped.
type Cut struct {
	In, Out bool // direction, as the machine sees it
	// Only some kinds of packets; none of them: all.
	UDP    bool // gossip as a firewall blocks it
	Gossip bool // its port, with UDP and TCP
	API    bool // TCP to and from the servers' API
	Raft   bool // TCP to and from the servers' log
	Loss   int  // percent of them; 0: all of them
}

// Both ways, everything.
var Both = Cut{In: true, Out: true}

// Cut drops packets of the machine from now on, instead of those of an earlier Cut.
func (m *Machine) Cut(c Cut) error {
	var b strings.Builder
	b.WriteString("flush ruleset\n")
	if c.In || c.Out {
		b.WriteString("table inet stand {\n")
		if c.In {
			b.WriteString("chain in {\ntype filter hook input priority 0;\niif lo accept\n" +
				c.rules("sport", "dport") + "}\n")
		}
		if c.Out {
			b.WriteString("chain out {\ntype filter hook output priority 0;\noif lo accept\n" +
				c.rules("dport", "sport") + "}\n")
		}
		b.WriteString("}\n")
	}
	m.net.Lock()
	defer m.net.Unlock()
	if err := m.tool("nft", "-f", b.String()); err != nil {
		return fmt.Errorf("cut %s: %w", m.Name, err)
	}
	return nil
}

// rules drops packets whose other end or own end is what is to be cut.
func (c Cut) rules(theirs, ours string) string {
	drop := "drop\n"
	if c.Loss > 0 {
		drop = fmt.Sprintf("numgen random mod 100 < %d drop\n", c.Loss)
	}
	var b strings.Builder
	if c.UDP {
		b.WriteString("meta l4proto udp " + drop)
	}
	if c.Gossip {
		fmt.Fprintf(&b, "th %s %d %sth %s %d %s", theirs, gossipPort, drop, ours, gossipPort, drop)
	}
	if c.API {
		fmt.Fprintf(&b, "tcp %s { %d, %d-%d } %s", theirs, apiPort, wirePort, wirePort+9, drop)
		fmt.Fprintf(&b, "tcp %s %d %s", ours, apiPort, drop)
	}
	if c.Raft {
		fmt.Fprintf(&b, "tcp %s { %d, %d-%d } %s", theirs, raftPort, raftWire, raftWire+9, drop)
		fmt.Fprintf(&b, "tcp %s %d %s", ours, raftPort, drop)
	}
	if b.Len() == 0 {
		return drop
	}
	return b.String()
}

// Heal ends the Cut. A machine that is switched off has none.
func (m *Machine) Heal() error {
	if err := m.Cut(Cut{}); err != nil && !errors.Is(err, ErrDown) {
		return err
	}
	return nil
}
