package proc

import (
	"context"
	"io"

	"golang.org/x/time/rate"
)

// What an agent may print: as much as outputBurst at once, then outputRate. One that prints without end
// waits at its own writes, as for a slow terminal, and takes neither processor nor disk from the others.
const (
	outputRate  = 8 << 20 // bytes a second
	outputBurst = 64 << 20
)

// pacedReader reads no faster than output may come, until ctx ends: what is left then is not held up.
type pacedReader struct {
	ctx  context.Context
	from io.Reader
	left *rate.Limiter
}

func newPacedReader(ctx context.Context, from io.Reader) *pacedReader {
	return &pacedReader{ctx, from, rate.NewLimiter(outputRate, outputBurst)}
}

func (p *pacedReader) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	_ = p.left.WaitN(p.ctx, min(n, outputBurst)) // the end of ctx ends the waiting, not the reading
	return n, err
}
