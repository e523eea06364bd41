package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// Times of a seat.
const (
	sitLimit  = 15 * time.Second       // until the first picture, where --timeout says nothing
	riseLimit = 5 * time.Second        // for giving the terminal back
	lookEvery = 300 * time.Millisecond // between two looks at the size of this terminal
	lookAgain = time.Second            // until a picture is asked for again that did not come
)

// seat is a place at the terminal of an agent, by the servers: pictures come as a stream, keys go as calls of
// a turn that the log gives. All of it belongs to whoever runs stay.
type seat struct {
	fleet          vigilv1.FleetClient
	agent, me      string
	readOnly, take bool
	limit          time.Duration // until the first picture; 0: sitLimit
	now            func() time.Time
	in             io.Reader
	out            io.Writer
	size           func() (columns, rows int) // of the person's terminal

	life  string // that one sits at
	frame *vigilv1.Screen
	from  vigilv1.Fleet_FollowScreenClient
	stop  context.CancelFunc // ends from

	lost      error // why no picture comes; nil: they do
	lostSince time.Time
	over      bool // the life has ended

	turn turn
	said string // in the last line, until the next key
	last string // after the end
}

// sit waits for the first picture and takes the terminal, unless one only looks. Whoever cannot have it is
// told by whom it is held.
func (s *seat) sit(ctx context.Context) error {
	if s.limit == 0 {
		s.limit = sitLimit
	}
	streamed, stop := context.WithCancel(ctx)
	s.stop = stop
	late := time.AfterFunc(s.limit, stop)
	from, err := s.fleet.FollowScreen(streamed, &vigilv1.FollowScreenRequest{Agent: s.agent})
	if err == nil {
		s.from = from
		s.frame, err = from.Recv()
	}
	if !late.Stop() && err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: its host shows no screen within %s", client.ErrTimeout, s.limit)
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the life of %s has just ended; `vigil agent explain %s` tells what becomes of it", s.agent,
			s.agent)
	}
	if err != nil {
		stop()
		return err
	}
	s.life = s.frame.GetIncarnation()
	if s.readOnly {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	if err := s.takeTerminal(asked); err != nil {
		stop()
		return err
	}
	return nil
}

// takeTerminal begins a turn, or takes it from whoever has it when that is wanted.
func (s *seat) takeTerminal(ctx context.Context) error {
	took, err := s.fleet.TakeTerminal(ctx, &vigilv1.TakeTerminalRequest{Agent: s.agent, By: s.me})
	if errors.Is(err, client.ErrConflict) && s.take {
		var a *vigilv1.GetAgentResponse
		a, err = s.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: s.agent})
		if err != nil {
			return err
		}
		if grant := a.GetAgent().GetTypist().GetGrant(); grant != 0 { // that one, and no later one
			_, err = s.fleet.ReleaseTerminal(ctx,
				&vigilv1.ReleaseTerminalRequest{Agent: s.agent, Grant: grant, By: s.me})
		}
		if err == nil {
			took, err = s.fleet.TakeTerminal(ctx, &vigilv1.TakeTerminalRequest{Agent: s.agent, By: s.me})
		}
	}
	if err != nil {
		if errors.Is(err, client.ErrConflict) && s.turn.grant == 0 {
			return fmt.Errorf("%w; --take takes it from them, --read-only only looks", err)
		}
		return err
	}
	if life := took.GetAgent().GetIncarnation(); life != s.life {
		s.turn = turn{grant: took.GetGrant()} // to be given back
		return fmt.Errorf("life %s of %s has ended; attach to the next one", s.life, s.agent)
	}
	s.turn = turn{grant: took.GetGrant(), span: took.GetSpan().AsDuration(), last: s.now()}
	return nil
}

// rise gives the terminal back, whatever has ended ctx.
func (s *seat) rise(ctx context.Context) {
	s.stop()
	if s.turn.grant == 0 || s.over {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), riseLimit)
	defer cancel()
	_, err := s.fleet.ReleaseTerminal(ctx,
		&vigilv1.ReleaseTerminalRequest{Agent: s.agent, Grant: s.turn.grant, By: s.me})
	if err != nil {
		s.last = fmt.Sprintf("The terminal could not be given back (%s); it is free a minute after your last key.",
			term.OneLine(err.Error()))
	}
}

// stay shows the terminal and types until the person leaves, the life ends or ctx does.
func (s *seat) stay(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys, pictures, typed := make(chan []byte), make(chan picture), make(chan typedKeys)
	go read(ctx, s.in, keys) // it may wait for a key when all is over: the end of this process ends it
	go s.follow(ctx, pictures)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for drawn := ""; ; {
		if now := s.draw(); now != drawn {
			if _, err := io.WriteString(s.out, now); err != nil {
				return err
			}
			drawn = now
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case text, ok := <-keys:
			before, _, left := bytes.Cut(text, []byte{leave})
			if s.said = ""; !s.readOnly {
				s.turn.add(before)
			}
			if !ok || left {
				s.last = "You have left the terminal of " + s.agent + "."
				return s.settle(ctx, typed)
			}
		case p := <-pictures:
			if s.see(p); s.over {
				s.last = fmt.Sprintf("Life %s of %s has ended; `vigil agent explain %s` tells why.", s.life, s.agent, s.agent)
				return nil
			}
		case t := <-typed:
			s.typed(ctx, t)
		case <-tick.C:
		}
		s.turn.send(ctx, s, typed)
	}
}

// settle types what was pressed before the key to leave.
func (s *seat) settle(ctx context.Context, typed chan typedKeys) error {
	ctx, cancel := context.WithTimeout(ctx, riseLimit)
	defer cancel()
	for {
		s.turn.send(ctx, s, typed)
		if !s.turn.busy {
			return nil
		}
		select {
		case t := <-typed:
			s.typed(ctx, t)
		case <-ctx.Done():
			return nil
		}
	}
}

// read gives what is typed; the channel is closed when nobody types any more.
func read(ctx context.Context, from io.Reader, keys chan<- []byte) {
	defer close(keys)
	for {
		buf := make([]byte, 4<<10)
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case keys <- buf[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}
