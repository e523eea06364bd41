package proc

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// endless prints without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// A10: an agent that prints without end has its burst at once and waits for the rest; what is left when
// its tree has ended is not held up.
func TestA10OutputIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, begin := newPacedReader(ctx, endless{}), time.Now()
		for _, step := range []struct {
			bytes int64
			took  time.Duration
		}{{outputBurst, 0}, {10 * outputRate, 10 * time.Second}} {
			if n, err := io.CopyN(io.Discard, r, step.bytes); n != step.bytes || err != nil {
				t.Fatalf("read %d of %d bytes: %v", n, step.bytes, err)
			}
			if took := time.Since(begin).Round(100 * time.Millisecond); took != step.took {
				t.Errorf("%d bytes more were there after %s, want %s", step.bytes, took, step.took)
			}
		}
		cancel()
		begin = time.Now()
		if n, err := io.CopyN(io.Discard, r, outputBurst); n != outputBurst || err != nil || time.Since(begin) != 0 {
			t.Errorf("after the end: %d bytes in %s: %v", n, time.Since(begin), err)
		}
	})
}
