package backup

import (
	"slices"
	"time"
)

// retention is which backups stay.
type retention struct {
	keep    int           // so many at least
	keepFor time.Duration // and all that are younger
	// step is what counts at most of the time between two backups: a longer one was an outage, or a clock that leapt,
	// and nobody can tell which.
	step time.Duration
}

// outdated gives the backups to delete after last was made and found good: those of its cluster that are
// neither among the newest that stay, nor younger than keepFor. A backup is among the newest when it is by index
// or by time: a clock that jumped, or a cluster that began anew under its old name, takes nothing away.
// Bad ones do not count, nor those that say that they are ahead of last, which no clock and no log can be
// that is right. What is given is sorted by index.
func (r retention) outdated(list []Name, last Name, now time.Time, bad map[Name]bool) []Name {
	list = slices.DeleteFunc(slices.Clone(list), func(n Name) bool { return n.Cluster != last.Cluster })
	stays := map[Name]bool{last: true}
	for _, order := range []func([]Name){byTime, ByIndex} {
		order(list)
		good := 0
		for _, n := range list {
			if good >= r.keep {
				break
			}
			stays[n] = true
			if !bad[n] && n.Index <= last.Index && n.Unix <= last.Unix {
				good++
			}
		}
	}
	for n, age := range r.ages(list, now) {
		stays[n] = stays[n] || age < r.keepFor
	}
	return slices.DeleteFunc(list, func(n Name) bool { return stays[n] })
}

// ages tells how old each backup is at least, by the times of all. Each is as much older than the next one as their
// times say, but a step at most: the one clock that leapt months ahead makes none of those outdated that the others
// made yesterday, neither at once nor with the next backups that it makes.
func (r retention) ages(list []Name, now time.Time) map[Name]time.Duration {
	list = slices.Clone(list)
	byTime(list)
	ages, age := make(map[Name]time.Duration, len(list)), time.Duration(0)
	for _, n := range list {
		since := now.Sub(n.Time())
		if since < 0 { // ahead of this clock
			ages[n] = since
			continue
		}
		age += min(since, r.step)
		ages[n], now = age, n.Time()
	}
	return ages
}
