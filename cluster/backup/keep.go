package backup

import (
	"slices"
	"time"
)

// outdated gives the backups to delete after last was made and found good: those of its cluster that are
// neither among the newest keep, nor younger than keepFor. A backup is among the newest when it is by index
// or by time: a clock that jumped, or a cluster that began anew under its old name, takes nothing away.
// Bad ones do not count, nor those that say that they are ahead of last, which no clock and no log can be
// that is right. What is given is sorted by index.
func outdated(list []Name, last Name, keep int, keepFor time.Duration, now time.Time, bad map[Name]bool) []Name {
	list = slices.DeleteFunc(slices.Clone(list), func(n Name) bool { return n.Cluster != last.Cluster })
	stays := map[Name]bool{last: true}
	for _, order := range []func([]Name){byTime, ByIndex} {
		order(list)
		good := 0
		for _, n := range list {
			if good >= keep {
				break
			}
			stays[n] = true
			if !bad[n] && n.Index <= last.Index && n.Unix <= last.Unix {
				good++
			}
		}
	}
	return slices.DeleteFunc(list, func(n Name) bool {
		return stays[n] || now.Sub(n.Time()) < keepFor
	})
}
