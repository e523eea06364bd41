package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestPercentileIsAMeasuredValue(t *testing.T) {
	var s samples
	for _, i := range rand.Perm(100) {
		s.add(time.Duration(i+1) * time.Millisecond)
	}
	for _, c := range []struct {
		p    float64
		want time.Duration
	}{{0, 1}, {0.001, 1}, {0.5, 50}, {0.501, 51}, {0.99, 99}, {0.991, 100}, {1, 100}} {
		if got := s.percentile(c.p); got != c.want*time.Millisecond {
			t.Errorf("percentile %v of 1..100 ms: %v, want %v ms", c.p, got, int(c.want))
		}
	}
	var none samples
	if none.percentile(0.5) != 0 {
		t.Error("no samples give no times")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}
