package door

import "time"

// bucket is what may still be used of something that comes back at a rate.
type bucket struct {
	tokens float64
	at     time.Time // when tokens was right
}

// fill adds what has become free since the last time: rate a second, up to burst.
func (b *bucket) fill(now time.Time, burst, rate float64) {
	b.tokens = min(burst, b.tokens+rate*now.Sub(b.at).Seconds())
	b.at = now
}
