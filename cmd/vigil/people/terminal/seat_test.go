package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// desk is a fleet with one agent that has a terminal: what the calls of a seat need of it.
type desk struct {
	vigilv1.FleetClient
	mu       sync.Mutex
	life     string
	typist   *vigilv1.Typist // nil: nobody
	turns    uint64
	typed    []string
	sizes    []string // that the terminal got
	released []uint64
	away     error // what calls about keys answer
	screens  chan *vigilv1.Screen
}

func newDesk() *desk { return &desk{life: "3", screens: make(chan *vigilv1.Screen, 8)} }

// shows is a screen of the agent's life.
func (d *desk) shows(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.screens <- &vigilv1.Screen{Text: text, Incarnation: d.life, Columns: 20, Rows: 5}
}

func (d *desk) with(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *desk) FollowScreen(ctx context.Context, _ *vigilv1.FollowScreenRequest, _ ...grpc.CallOption) (
	grpc.ServerStreamingClient[vigilv1.Screen], error,
) {
	return &screens{ctx: ctx, from: d.screens}, nil
}

// screens is a stream; a screen that is nil breaks it.
type screens struct {
	grpc.ServerStreamingClient[vigilv1.Screen]
	ctx  context.Context
	from chan *vigilv1.Screen
}

func (s *screens) Recv() (*vigilv1.Screen, error) {
	select {
	case screen := <-s.from:
		if screen == nil {
			return nil, &client.Error{Code: code.Unavailable, Message: "the server is gone\x1b[2J"}
		}
		return screen, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (d *desk) TakeTerminal(_ context.Context, r *vigilv1.TakeTerminalRequest, _ ...grpc.CallOption) (
	*vigilv1.TakeTerminalResponse, error,
) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.typist != nil && d.typist.By != r.GetBy() {
		return nil, &client.Error{Code: code.Conflict, Message: d.typist.By + " types here"}
	}
	d.turns++
	d.typist = &vigilv1.Typist{By: r.GetBy(), Grant: d.turns}
	return &vigilv1.TakeTerminalResponse{Grant: d.turns, Span: durationpb.New(time.Minute),
		Agent: &vigilv1.Agent{Name: r.GetAgent(), Incarnation: d.life}}, nil
}

func (d *desk) TypeKeys(_ context.Context, r *vigilv1.TypeKeysRequest, _ ...grpc.CallOption) (
	*vigilv1.TypeKeysResponse, error,
) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.typist == nil || d.typist.Grant != r.GetGrant():
		return nil, &client.Error{Code: code.Superseded, Message: "this turn is over"}
	case d.away != nil:
		return nil, d.away
	}
	if r.GetColumns() != 0 {
		d.sizes = append(d.sizes, fmt.Sprintf("%d: %dx%d", r.GetGrant(), r.GetColumns(), r.GetRows()))
	}
	if len(r.GetKeys()) == 0 {
		return &vigilv1.TypeKeysResponse{}, nil
	}
	d.typed = append(d.typed, fmt.Sprintf("%d.%d %s", r.GetGrant(), r.GetSeq(), r.GetKeys()))
	return &vigilv1.TypeKeysResponse{}, nil
}

func (d *desk) ReleaseTerminal(_ context.Context, r *vigilv1.ReleaseTerminalRequest, _ ...grpc.CallOption) (
	*vigilv1.Agent, error,
) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.typist != nil && d.typist.Grant == r.GetGrant() {
		d.typist = nil
		d.released = append(d.released, r.GetGrant())
	}
	return &vigilv1.Agent{}, nil
}

func (d *desk) GetAgent(_ context.Context, r *vigilv1.GetAgentRequest, _ ...grpc.CallOption) (
	*vigilv1.GetAgentResponse, error,
) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: r.GetAgent(), Incarnation: d.life,
		Process: "running", Typist: d.typist}}, nil
}

// glass is what a person sees: all that was drawn last.
type glass struct {
	mu    sync.Mutex
	drawn string
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drawn = string(p)
	return len(p), nil
}

func (g *glass) sees() string {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return ansi.Strip(g.drawn)
}

// seated is somebody at a terminal of 40 columns and 6 rows.
type seated struct {
	*seat
	glass
	keys *io.PipeWriter
	end  chan error
	stop context.CancelCauseFunc
}

// sitDown sits down at the agent of a desk.
func sitDown(t *testing.T, d *desk, change func(*seat)) *seated {
	t.Helper()
	in, keys := io.Pipe()
	t.Cleanup(func() { keys.Close() }) // whoever reads it may wait
	p := &seated{keys: keys, end: make(chan error, 1)}
	p.seat = &seat{fleet: d, agent: "web/a", me: "ann", now: time.Now, in: in, out: &p.glass,
		size: func() (int, int) { return 40, 6 }}
	if change != nil {
		change(p.seat)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	p.stop = stop
	if err := p.sit(ctx); err != nil {
		p.end <- err
		return p
	}
	go func() {
		err := p.stay(ctx)
		p.rise(ctx)
		p.end <- err
	}()
	synctest.Wait()
	return p
}

func (p *seated) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	synctest.Wait()
}

// A person sits down at a terminal from anywhere, types key by key, and gives it back with the key that leaves;
// what was pressed before it is typed.
func TestAttachTypesAndGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.shows("hello\x1b]0;title\a\x1b[31m red\x1b[2J\u009b")
		p := sitDown(t, d, nil)
		if s := p.sees(); !strings.Contains(s, "hello red") || !strings.Contains(s, "What you type goes to web/a") ||
			!strings.Contains(s, leaveName) || strings.Contains(s, "title") {
			t.Errorf("one sees %q", s)
		}
		if strings.ContainsAny(p.drawn, "\a\u009b") || strings.Contains(p.drawn, "\x1b]") ||
			strings.Contains(p.drawn, "\x1b[2J") {
			t.Errorf("what does not colour got through: %q", p.drawn)
		}
		p.press(t, "y\x03")
		p.press(t, "\x1b[A")
		p.press(t, "last\x1dnever")
		if err := <-p.end; err != nil {
			t.Error(err)
		}
		if got := strings.Join(d.typed, ", "); got != "1.1 y\x03, 1.2 \x1b[A, 1.3 last" {
			t.Errorf("typed %q", got)
		}
		if len(d.released) != 1 || d.typist != nil {
			t.Errorf("given back: %d, %v has it", d.released, d.typist)
		}
	})
}

// Whatever ends a seat gives the terminal back: a signal, no keyboard any more; a life that ends has none.
func TestAttachGivesBackOnEveryWayOut(t *testing.T) {
	for name, c := range map[string]struct {
		end      func(d *desk, p *seated)
		released int
		last     string
	}{
		"a signal":    {func(_ *desk, p *seated) { p.stop(errors.New("ended by signal: hangup")) }, 1, ""},
		"no keyboard": {func(_ *desk, p *seated) { p.keys.Close() }, 1, "You have left the terminal of web/a."},
		"the life ends": {func(d *desk, _ *seated) {
			d.with(func() { d.life = "4" })
			d.screens <- nil
		}, 0, "Life 3 of web/a has ended; `vigil agent explain web/a` tells why."},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk()
			d.shows("hello")
			p := sitDown(t, d, nil)
			p.press(t, "x")
			c.end(d, p)
			if err := <-p.end; (err != nil) != (c.last == "") {
				t.Errorf("%s: %v", name, err)
			}
			if len(d.released) != c.released || p.last != c.last {
				t.Errorf("%s: given back %d, and it says %q", name, d.released, p.last)
			}
		})
	}
}

// Who has the terminal is told to whoever else wants it; to take it or to look on is for them to say.
func TestAttachSaysWhoHasTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.typist = &vigilv1.Typist{By: "bob", Grant: 9}
		d.turns = 9
		d.shows("hello")
		p := sitDown(t, d, nil)
		if err := <-p.end; !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), "bob types here; --take") {
			t.Errorf("%v", err)
		}
		d.shows("hello")
		p = sitDown(t, d, func(s *seat) { s.readOnly = true })
		p.press(t, "x")
		if s := p.sees(); !strings.Contains(s, "You look at web/a") || len(d.typed) != 0 {
			t.Errorf("one sees %q and has typed %q", s, d.typed)
		}
		p.press(t, "\x1d")
		if <-p.end; d.typist.GetBy() != "bob" {
			t.Error("bob has lost the terminal to whoever only looked")
		}
		d.shows("hello")
		p = sitDown(t, d, func(s *seat) { s.take = true })
		p.press(t, "x")
		if len(d.released) != 1 || d.released[0] != 9 || strings.Join(d.typed, "") != "10.1 x" {
			t.Errorf("released %d, typed %q", d.released, d.typed)
		}
		d.with(func() { d.typist = &vigilv1.Typist{By: "bob", Grant: 11}; d.turns = 11 })
		p.press(t, "y")
		if s := p.sees(); !strings.Contains(s, "bob types here") || !p.readOnly {
			t.Errorf("when it is taken one sees %q", s)
		}
		p.press(t, "z\x1d")
		if <-p.end; d.typist.GetBy() != "bob" || len(d.typed) != 1 {
			t.Errorf("bob's turn was disturbed: %v, %q", d.typist, d.typed)
		}
	})
}

// A turn that ended for want of keys is begun anew by the next key, and no key is lost or typed twice.
func TestAttachTakesAnIdleTerminalAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.shows("hello")
		p := sitDown(t, d, nil)
		p.press(t, "a")
		time.Sleep(2 * time.Minute)
		d.with(func() { d.typist = nil })
		if s := p.sees(); !strings.Contains(s, "free again") {
			t.Errorf("one sees %q", s)
		}
		p.press(t, "b")
		if got := strings.Join(d.typed, ", "); got != "1.1 a, 2.1 b" {
			t.Errorf("typed %q", got)
		}
		p.press(t, "\x1d")
		<-p.end
	})
}

// What is shown is called old while nothing comes, keys that are lost are told, and both pass.
func TestAttachSaysWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.shows("hello")
		p := sitDown(t, d, nil)
		d.screens <- nil
		time.Sleep(5 * time.Second)
		if s := p.sees(); !strings.Contains(s, "hello") || !strings.Contains(s, "s old: the server is gone") {
			t.Errorf("one sees %q", s)
		}
		d.shows("again")
		time.Sleep(2 * lookAgain)
		if s := p.sees(); !strings.Contains(s, "again") || !strings.Contains(s, "What you type") {
			t.Errorf("one sees %q", s)
		}
		d.with(func() { d.away = &client.Error{Code: code.Conflict, Message: "Nothing was typed: too fast."} })
		p.press(t, "x")
		if s := p.sees(); !strings.Contains(s, "Nothing was typed: too fast.") {
			t.Errorf("one sees %q", s)
		}
		d.with(func() { d.away = nil })
		p.press(t, "y\x1d")
		if <-p.end; strings.Join(d.typed, ", ") != "1.3 y" {
			t.Errorf("typed %q", d.typed)
		}
	})
}

// A window smaller than the agent's screen shows the part with the cursor, in its colours.
func TestAttachCutsAWindow(t *testing.T) {
	text := "\x1b[1mzero\none two\n\x1b[31mthree 日本\n\x1b[0mfour"
	for _, c := range []struct {
		left, columns, top, rows int
		want                     string
	}{
		{0, 80, 0, 9, "\x1b[1mzero|\x1b[1mone two|\x1b[1m\x1b[31mthree 日本|\x1b[1m\x1b[31m\x1b[0mfour"},
		{4, 3, 1, 1, "\x1b[1mtwo"},
		{2, 5, 2, 2, "\x1b[1m\x1b[31mree |\x1b[1m\x1b[31m\x1b[0mur"},
	} {
		if got := strings.Join(crop(text, c.left, c.columns, c.top, c.rows), "|"); got != c.want {
			t.Errorf("%d+%d, %d+%d: %q, want %q", c.left, c.columns, c.top, c.rows, got, c.want)
		}
	}
	for _, c := range [][4]int{{0, 200, 80, 0}, {79, 200, 80, 19}, {199, 200, 80, 120}, {5, 20, 80, 0}} {
		if got := corner(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("the cursor at %d of %d in a window of %d begins at %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}
