package agentd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"vigil/agentd/output"
	"vigil/rpc/gen/vigilv1"
)

const (
	// maxReaders bounds how many people read logs of this host at once.
	maxReaders = 32
	// logRate bounds the bytes a second of one reader, so that a chatty agent does
	// not crowd out orders.
	logRate = 4 << 20
)

// talk is what this host says on one session.
type talk struct {
	pongs chan uint64
	data  chan *vigilv1.LogData
	taken chan uint64 // revisions of keys of gossip
	logs  *output.Dir
	// terminal is stream.terminal; terminals holds a token for each call of it.
	terminal  func(context.Context, *vigilv1.TerminalRequest) (view, error)
	terminals chan struct{}
	// follow is stream.follow.
	follow func(context.Context, *vigilv1.LogRequest, func([]byte) error) error
	tasks  sync.WaitGroup

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // of log readers
}

// speak sends until ctx ends; answers to pings overtake logs.
func (t *talk) speak(ctx context.Context, wire vigilv1.HostAgent_StreamClient) error {
	for {
		var m *vigilv1.HostMessage
		select {
		case n := <-t.pongs:
			m = pong(n)
		default:
			select {
			case <-ctx.Done():
				return nil
			case n := <-t.pongs:
				m = pong(n)
			case d := <-t.data:
				m = &vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{LogData: d}}
			case rev := <-t.taken:
				m = &vigilv1.HostMessage{Kind: &vigilv1.HostMessage_GossipTaken{
					GossipTaken: &vigilv1.GossipTaken{Revision: rev}}}
			}
		}
		// io.EOF: Recv will say why.
		if err := wire.Send(m); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

func pong(n uint64) *vigilv1.HostMessage {
	return &vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Pong{Pong: &vigilv1.Pong{N: n}}}
}

// pong answers a ping. When 16 answers are waiting the connection is stuck anyway.
func (t *talk) pong(n uint64) {
	select {
	case t.pongs <- n:
	default:
	}
}

// serve answers a log request until it is finished or canceled.
func (t *talk) serve(session context.Context, r *vigilv1.LogRequest) {
	ctx, cancel := context.WithCancel(session)
	t.mu.Lock()
	_, twice := t.cancels[r.GetRequest()]
	full := len(t.cancels) >= maxReaders
	if !twice && !full {
		t.cancels[r.GetRequest()] = cancel
	}
	t.mu.Unlock()
	if twice {
		cancel()
		return
	}
	t.tasks.Go(func() {
		defer cancel()
		var err error
		if full {
			err = fmt.Errorf("%d readers follow logs of this host already; try again later", maxReaders)
		} else {
			err = t.read(ctx, r)
		}
		end := &vigilv1.LogData{Request: r.GetRequest(), End: true}
		if err != nil && ctx.Err() == nil {
			end.Error = err.Error()
		}
		if !full {
			t.cancel(r.GetRequest())
		}
		t.put(session, end)
	})
}

func (t *talk) read(ctx context.Context, r *vigilv1.LogRequest) error {
	if r.GetScreen() {
		return t.follow(ctx, r, func(p []byte) error {
			return t.put(ctx, &vigilv1.LogData{Request: r.GetRequest(), Data: p})
		})
	}
	log, err := t.logs.Log(r.GetAgentName())
	if err != nil {
		return err
	}
	ready := time.Now()
	return log.Read(ctx, int(min(r.GetLines(), output.MaxLines)), r.GetFollow(), func(p []byte) error {
		now := time.Now()
		if ready.Before(now) {
			ready = now
		}
		timer := time.NewTimer(ready.Sub(now))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		ready = ready.Add(time.Duration(len(p)) * time.Second / logRate)
		return t.put(ctx, &vigilv1.LogData{Request: r.GetRequest(), Data: bytes.Clone(p)})
	})
}

func (t *talk) put(ctx context.Context, d *vigilv1.LogData) error {
	select {
	case t.data <- d:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancel ends a reader; unknown numbers are ignored.
func (t *talk) cancel(request uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.cancels[request]; cancel != nil {
		cancel()
		delete(t.cancels, request)
	}
}
