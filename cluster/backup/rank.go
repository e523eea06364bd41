package backup

import (
	"cmp"
	"slices"
)

// Member is a server of the cluster.
type Member struct {
	ID                      string
	Voter, Leader, Diverged bool
}

// Rank is the place of a server in the order in which they make backups, from 0: voters by id, then
// standbys, the leader last, since it has enough to do. -1: not this one, because it is no
// member, its state differs from the others', or nobody leads.
func Rank(members []Member, self string) int {
	if !slices.ContainsFunc(members, func(m Member) bool { return m.Leader }) {
		return -1
	}
	members = slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Diverged })
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(last(a.Leader, b.Leader), last(!a.Voter, !b.Voter), cmp.Compare(a.ID, b.ID))
	})
	return slices.IndexFunc(members, func(m Member) bool { return m.ID == self })
}

// last puts what is true behind what is not.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
