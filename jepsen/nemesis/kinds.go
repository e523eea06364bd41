//go:build linux

package nemesis

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// groups are where kinds come from; each has a file of its own.
var groups = []func() []*Kind{
	serverKinds, partitionKinds, linkKinds, memberKinds, wrongMemberKinds, snapshotKinds, upgradeKinds,
	outageKinds, diskKinds, clockKinds, hostKinds, dependencyKinds, workerKinds, hostileAgentKinds, hostileHostKinds,
}

// healers undo, on the whole field, what a Strike may have left behind. They run after
// the last Strike, in this order, and do nothing where nothing is left.
var healers = []func(*Field) error{healClocks, healDisks, healMachines, healHosts, healMembers, healDependencies}

// Kinds are all kinds, in the order of their lanes and names.
func Kinds() []*Kind {
	var all []*Kind
	for _, group := range groups {
		all = append(all, group()...)
	}
	lanes := []string{Servers, Disks, Clocks, Host, Dependencies, HostileAgent, HostileHost, Alone}
	slices.SortFunc(all, func(a, b *Kind) int {
		if n := slices.Index(lanes, a.Lane) - slices.Index(lanes, b.Lane); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Select gives the kinds that words name: each is a lane, a kind, or a pattern of
// kinds as path.Match has them (leader_*); one that begins with "-" takes away again.
// No words, or the first one takes away: all kinds to begin with.
func Select(words ...string) ([]*Kind, error) {
	all := Kinds()
	chosen := map[*Kind]bool{}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		for _, k := range all {
			chosen[k] = true
		}
	}
	for _, word := range words {
		pattern, away := strings.CutPrefix(word, "-")
		known := false
		for _, k := range all {
			match, err := path.Match(pattern, k.Name)
			if err != nil {
				return nil, fmt.Errorf("nemesis %q: %w", word, err)
			}
			if match || pattern == k.Lane {
				chosen[k], known = !away, true
			}
		}
		if !known {
			return nil, fmt.Errorf("nemesis %q: no lane and no kind has this name", word)
		}
	}
	var list []*Kind
	for _, k := range all {
		if chosen[k] {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("nemesis %q: nothing is left", strings.Join(words, ","))
	}
	return list, nil
}
