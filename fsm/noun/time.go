package noun

import "time"

// Time is cluster time: nanoseconds of leader-driven time since the cluster was
// bootstrapped. It is part of the state, never decreases, stands still while
// there is no leader, and is unrelated to any machine's wall clock.
type Time int64

// Add returns t + d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns t - u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Wall is Unix time in nanoseconds as the leader saw it when it sealed an entry.
// It is kept for people to read and decides nothing.
type Wall int64

// Text is the wall time for people, in UTC so that all servers say the same.
func (w Wall) Text() string {
	return time.Unix(0, int64(w)).UTC().Format("2006-01-02 15:04:05 UTC")
}
