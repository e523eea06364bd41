package cli

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// Pauses of --watch.
const (
	watchLeast = 500 * time.Millisecond // between two looks, however much happens
	watchMost  = 5 * time.Second        // what no event tells of is seen after this
	watchAgain = 2 * time.Second        // until a lost server is asked again
)

// Watchable gives a command that prints how something is the flag --watch: it is run again when something has
// happened, and what it prints takes the place of what it printed before. In a pipe it prints again only when
// that is something else.
func (a *App) Watchable(cmd *cobra.Command) {
	var on bool
	once := cmd.RunE
	cmd.Flags().BoolVar(&on, "watch", false, "print it again whenever it changes, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !on {
			return once(cmd, args)
		}
		return a.watch(cmd, func() error { return once(cmd, args) })
	}
}

// watch runs once again and again until the command is interrupted. Servers that are away for a while are waited
// for; any other error ends it.
func (a *App) watch(cmd *cobra.Command, once func() error) error {
	c, err := a.dial(a.absent(cmd))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	a.shared = c
	defer func() { a.shared = nil }()
	changed := make(chan struct{}, 1)
	go signals(ctx, c, changed)
	out, redraw := a.Out, a.Redraw(a.Getenv)
	defer func() { a.Out = out; redraw.End() }()
	last, below := []byte(nil), ""
	for began := time.Now(); ; {
		var text bytes.Buffer
		redraw.Measure()
		a.Out = &text
		err := once()
		a.Out = out
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			last, below = text.Bytes(), "Ctrl-C ends this"
		case !passes(err) || last == nil && c.Nobody(began):
			return err
		default:
			below = "This is old. " + err.Error()
		}
		if last != nil || redraw.OnScreen() {
			if err := redraw.Show(last, below); err != nil {
				return err
			}
		}
		if !pauseFor(ctx, changed, err != nil) {
			return ctx.Err()
		}
	}
}

// passes tells whether an error says only that servers are away.
func passes(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrNoLeader) ||
		errors.Is(err, client.ErrNotLeader) || errors.Is(err, client.ErrTimeout)
}

// pauseFor waits for the next look; false: ctx has ended.
func pauseFor(ctx context.Context, changed <-chan struct{}, failed bool) bool {
	if failed {
		return sleep(ctx, watchAgain)
	}
	if !sleep(ctx, watchLeast) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-time.After(watchMost - watchLeast):
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// signals gives a value after something has happened, until ctx ends. It is a hint: whoever looks does so now
// and then anyway.
func signals(ctx context.Context, c *Conn, changed chan<- struct{}) {
	request, leader := &vigilv1.FollowRequest{}, ""
	for pause := watchLeast; ctx.Err() == nil && sleep(ctx, pause); pause = watchAgain {
		stream, err := vigilv1.NewDeskClient(c).Follow(ctx, request)
		for err == nil {
			var n *vigilv1.News
			if n, err = stream.Recv(); err != nil {
				break
			}
			request.After, request.Epoch = n.GetSeq(), n.GetEpoch()
			if len(n.GetEvents()) > 0 || n.GetLeftOut() > 0 || n.GetReset_() || n.GetLeader() != leader {
				leader = n.GetLeader()
				select {
				case changed <- struct{}{}:
				default: // it is known already
				}
			}
		}
	}
}
