//go:build linux

package stand

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Door is a kind of traffic between machines.
type Door int

// Doors of a server; gossip is also spoken by hosts.
const (
	API    Door = iota + 1 // calls of agents, agentd and clients, and what servers pass on to each other
	Raft                   // the log
	Gossip                 // probes, by UDP and TCP
)

// Link is what one machine sends to another, in this direction only.
type Link struct {
	From, To *Machine
	Doors    []Door // only this traffic; none: everything
	Loss     int    // percent of the packets that are dropped; 0: all of them
}

// Between makes links both ways between every machine of one list and every one of
// the other.
func Between(these, those []*Machine, doors ...Door) []Link {
	var list []Link
	for _, a := range these {
		for _, b := range those {
			if a != b {
				list = append(list, Link{From: a, To: b, Doors: doors}, Link{From: b, To: a, Doors: doors})
			}
		}
	}
	return list
}

// Lossy gives the links with so many percent of loss.
func Lossy(percent int, links []Link) []Link {
	links = slices.Clone(links)
	for i := range links {
		links[i].Loss = percent
	}
	return links
}

// CutLinks drops packets on links, all of them from the same moment on, beside those
// of earlier calls, until the function that it gives is called. That may be called
// more than once.
func (s *Stand) CutLinks(links []Link) (heal func() error, err error) {
	s.mu.Lock()
	s.cuts++
	n := s.cuts
	if s.cut == nil {
		s.cut = map[int][]Link{}
	}
	s.cut[n] = links
	err = s.applyCuts()
	s.mu.Unlock()
	heal = func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cut[n] == nil {
			return nil
		}
		delete(s.cut, n)
		return s.applyCuts()
	}
	return heal, err
}

// HealLinks ends everything that CutLinks has begun.
func (s *Stand) HealLinks() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cut) == 0 {
		return nil
	}
	clear(s.cut)
	return s.applyCuts()
}

// applyCuts makes the kernel drop what s.cut says, in one step. mu is held.
func (s *Stand) applyCuts() error {
	// What passes from machine to machine is forwarded by the bridge; wires end and
	// begin in the driver.
	chains := map[string]*strings.Builder{"forward": {}, "input": {}, "output": {}}
	for _, links := range s.cut {
		for _, l := range links {
			s.rules(chains, l)
		}
	}
	var b strings.Builder
	b.WriteString("table bridge stand {}\ndelete table bridge stand\n")
	b.WriteString("table bridge stand {\n")
	for _, hook := range sortedKeys(chains) {
		fmt.Fprintf(&b, "chain %s {\ntype filter hook %s priority 0;\n%s}\n", hook, hook, chains[hook])
	}
	b.WriteString("}\n")
	path, err := tool2path("nft")
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "-f", "-")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cut links: %w: %s", err, lastLine(out))
	}
	return nil
}

// rules writes what drops the packets of a link. What a server says to another
// server is in connections that either of them has made.
func (s *Stand) rules(chains map[string]*strings.Builder, l Link) {
	verdict := "drop"
	if l.Loss > 0 {
		verdict = fmt.Sprintf("numgen random mod 100 < %d drop", l.Loss)
	}
	var ports func(sv *Server) []string
	if len(l.Doors) == 0 {
		fmt.Fprintf(chains["forward"], "ip saddr %s ip daddr %s %s\n", l.From.IP, l.To.IP, verdict)
		ports = func(sv *Server) []string { return []string{sv.port(API), sv.port(Raft)} }
	} else {
		for _, word := range []string{"sport", "dport"} {
			if slices.Contains(l.Doors, Gossip) {
				fmt.Fprintf(chains["forward"],
					"ip saddr %s ip daddr %s meta l4proto { tcp, udp } th %s %d %s\n", l.From.IP, l.To.IP,
					word, gossipPort, verdict)
			}
		}
		ports = func(sv *Server) (list []string) {
			for _, d := range l.Doors {
				if d != Gossip {
					list = append(list, sv.port(d))
				}
			}
			return list
		}
	}
	if to := s.Server(l.To.Name); to != nil {
		for _, port := range ports(to) {
			fmt.Fprintf(chains["input"], "ip saddr %s tcp dport %s %s\n", l.From.IP, port, verdict)
		}
	}
	if from := s.Server(l.From.Name); from != nil {
		for _, port := range ports(from) {
			fmt.Fprintf(chains["output"], "ip daddr %s tcp sport %s %s\n", l.To.IP, port, verdict)
		}
	}
}
