//go:build linux

package stand

import (
	"fmt"
	"strings"
)

// Cut says which packets of a machine are dropped.
type Cut struct {
	In, Out bool // direction, as the machine sees it
	// Only one kind of packets; none of them: all.
	UDP    bool // gossip as a firewall blocks it
	Gossip bool // its port, with UDP and TCP
	API    bool // TCP to and from the servers' API
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
			b.WriteString("chain in {\ntype filter hook input priority 0;\niif lo accept\n" + c.rules("sport", "dport") + "}\n")
		}
		if c.Out {
			b.WriteString("chain out {\ntype filter hook output priority 0;\noif lo accept\n" + c.rules("dport", "sport") + "}\n")
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
	var b strings.Builder
	if c.UDP {
		b.WriteString("meta l4proto udp drop\n")
	}
	if c.Gossip {
		fmt.Fprintf(&b, "th %s %d drop\nth %s %d drop\n", theirs, gossipPort, ours, gossipPort)
	}
	if c.API {
		fmt.Fprintf(&b, "tcp %s { %d, %d-%d } drop\n", theirs, apiPort, wirePort, wirePort+9)
	}
	if b.Len() == 0 {
		return "drop\n"
	}
	return b.String()
}

// Heal ends the Cut.
func (m *Machine) Heal() error { return m.Cut(Cut{}) }
