package main

import (
	"math"
	"slices"
	"time"
)

// maxSamples bounds the memory of one measurement: 128 MiB. What comes after is counted but not kept.
const maxSamples = 1 << 24

// samples are measured times, each of them kept.
type samples struct {
	times   []time.Duration
	sorted  bool
	dropped int
}

func (s *samples) add(d time.Duration) {
	if len(s.times) >= maxSamples {
		s.dropped++
		return
	}
	s.times, s.sorted = append(s.times, d), false
}

func (s *samples) merge(other *samples) {
	room := min(maxSamples-len(s.times), len(other.times))
	s.times, s.sorted = append(s.times, other.times[:room]...), false
	s.dropped += other.dropped + len(other.times) - room
}

// percentile gives the smallest measured time that at least p of all (0 to 1) do not exceed; 0 without
// samples.
func (s *samples) percentile(p float64) time.Duration {
	if len(s.times) == 0 {
		return 0
	}
	if !s.sorted {
		slices.Sort(s.times)
		s.sorted = true
	}
	// The product may come out a little above the whole number that it stands for.
	rank := int(math.Ceil(p*float64(len(s.times)) - 1e-9))
	return s.times[min(max(rank, 1), len(s.times))-1]
}

func (s *samples) max() time.Duration { return s.percentile(1) }

// millis is a time in milliseconds, rounded to a microsecond.
func millis(d time.Duration) float64 { return float64(d.Round(time.Microsecond)) / 1e6 }

// rounded keeps three digits behind the point.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }

// median gives the middle of the values, the mean of the middle two of an even number, NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	list := slices.Sorted(slices.Values(values))
	mid := len(list) / 2
	if len(list)%2 == 1 {
		return list[mid]
	}
	return (list[mid-1] + list[mid]) / 2
}
