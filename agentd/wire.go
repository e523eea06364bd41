package agentd

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/code"
)

// refused tells whether the cluster has answered no. Anything else leaves open
// whether the call was carried out, or may end, and is asked again.
func refused(err error) bool { return code.Of(client.Code(err)).Fate.No() }

// final tells whether the cluster has said that a fact is about what is over, so that
// nobody wants it any more. Any other no is about the call: who may say it, how much, to
// which version; what it was about is not lost for that.
func final(err error) bool { return code.Of(client.Code(err)).Fate == code.Over }

// misfit tells whether a report was refused for what it holds.
func misfit(err error) bool {
	name := client.Code(err)
	return name == code.Invalid || name == code.TooLarge
}

// backoff is the pause before the next attempt: doubling, with jitter.
type backoff struct {
	first, most time.Duration
	next        time.Duration
}

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) pause() time.Duration {
	b.next = min(max(2*b.next, b.first), b.most)
	return b.next/2 + rand.N(b.next/2+1)
}

// wait pauses; it gives false when ctx has ended.
func (b *backoff) wait(ctx context.Context) bool { return b.waitOr(ctx, nil) }

// waitOr is wait that again cuts short: the next pauses are short ones too.
func (b *backoff) waitOr(ctx context.Context, again <-chan struct{}) bool {
	t := time.NewTimer(b.pause())
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-again:
		b.reset()
		return true
	case <-t.C:
		return true
	}
}

// resumed tells waiters that the cluster answers again. It is safe for concurrent use.
type resumed struct {
	mu sync.Mutex
	c  chan struct{} // nil: nobody waits
}

// next is closed by the next tell.
func (r *resumed) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c == nil {
		r.c = make(chan struct{})
	}
	return r.c
}

func (r *resumed) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c != nil {
		close(r.c)
		r.c = nil
	}
}

// attemptLimit bounds one attempt of a call that is repeated until it is answered.
const attemptLimit = 10 * time.Second

// insist repeats a call until it works, is refused, or ctx ends. It does not wait for
// the end of a pause once the cluster is known to answer again.
func insist(ctx context.Context, again *resumed, call func(context.Context) error) error {
	return insistUntil(ctx, again, refused, call)
}

// insistUntil is insist that gives up on other errors than refusals.
func insistUntil(ctx context.Context, again *resumed, over func(error) bool, call func(context.Context) error) error {
	pauses := backoff{first: 50 * time.Millisecond, most: 2 * time.Second}
	rare := backoff{first: time.Second, most: 30 * time.Second} // after a no
	for {
		answers := again.next() // before the attempt, which may fail at that very moment
		attempt, cancel := context.WithTimeout(ctx, attemptLimit)
		err := call(attempt)
		cancel()
		if err == nil || over(err) || ctx.Err() != nil {
			return err
		}
		if refused(err) {
			if !rare.wait(ctx) {
				return err
			}
		} else if !pauses.waitOr(ctx, answers) {
			return err
		}
	}
}

// maxReason bounds the reason in an exit report.
const maxReason = 1 << 10

// clip cuts text to at most n bytes of valid UTF-8.
func clip(text string, n int) string {
	if len(text) > n {
		text = text[:n]
	}
	return strings.ToValidUTF8(text, "")
}
