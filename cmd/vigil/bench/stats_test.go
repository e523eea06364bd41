package bench

import (
	"math/rand/v2"
	"slices"
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
	if s.max() != 100*time.Millisecond {
		t.Errorf("max %v", s.max())
	}
}

func TestPercentileByDefinition(t *testing.T) {
	for range 200 {
		var s samples
		n := 1 + rand.IntN(50)
		for range n {
			s.add(time.Duration(rand.IntN(20)))
		}
		p := rand.Float64()
		got := s.percentile(p)
		if !slices.Contains(s.times, got) {
			t.Fatalf("percentile %v is %v, which was never measured", p, got)
		}
		atMost, below := 0, 0
		for _, d := range s.times {
			if d <= got {
				atMost++
			}
			if d < got {
				below++
			}
		}
		if float64(atMost) < p*float64(n)-1e-6 || float64(below) >= p*float64(n) && below > 0 {
			t.Fatalf("percentile %v of %v is %v", p, s.times, got)
		}
	}
}

func TestNoSamples(t *testing.T) {
	var s samples
	if s.percentile(0.5) != 0 || s.max() != 0 {
		t.Error("no samples give no times")
	}
}

func TestSamplesAreAddedAfterSorting(t *testing.T) {
	var s, other samples
	s.add(3)
	_ = s.max()
	s.add(1)
	other.add(2)
	s.merge(&other)
	if got := s.percentile(0.5); got != 2 {
		t.Errorf("median of 3, 1, 2 is %d", got)
	}
}

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0.000"}, {0.0123, "0.012"}, {1.234, "1.23"}, {12.34, "12.3"}, {1234.5, "1,234"},
		{1234567, "1,234,567"}, {999, "999.0"}} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
	for in, want := range map[string]string{"-1234": "-1,234", "-123": "-123", "12345.678": "12,345.678"} {
		if got := thousands(in); got != want {
			t.Errorf("thousands(%q) = %q, want %q", in, got, want)
		}
	}
}
