package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"vigil/rpc/gen/vigilv1"
)

// Attacks of an agent, as its task names them.
const (
	Calls    = "calls"    // every call for another life
	Lives    = "lives"    // as another life, or as somebody else, by what it says
	Monsters = "monsters" // huge names, escape sequences, bytes that are no call
	Flood    = "flood"    // as much as it can send, for a bounded time
)

// Escapes is what a terminal would obey: it renames the window, clears it and types.
const Escapes = "\x1b]0;owned\x07\x1b[2J\x1b[31mowned\x1b[0m\u009b2J\u202eowned\r\n"

// Self is an agent that attacks.
type Self struct {
	Socket      string // of its life
	Agent       string
	ID          uint32
	Incarnation uint64
	Token       string
	Task        uint64 // that it works on
	Victim      Victim
}

// Attack does what the name says.
func (s Self) Attack(ctx context.Context, name string) (*Tally, error) {
	conn, err := grpc.NewClient("passthrough:///life", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.dial(ctx) }))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	t := &Tally{}
	switch name {
	case Calls:
		Everything(ctx, t, conn, "agent:", s.Victim)
	case Lives:
		s.lives(ctx, t, conn)
	case Monsters:
		s.monsters(ctx, t, conn)
	case Flood:
		s.flood(ctx, t, conn)
	default:
		return nil, fmt.Errorf("there is no attack %q", name)
	}
	return t, nil
}

func (s Self) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", s.Socket)
}

// lives speaks as other lives, and says in headers to be somebody else.
func (s Self) lives(ctx context.Context, t *Tally, conn *grpc.ClientConn) {
	work, fleet := vigilv1.NewWorkClient(conn), vigilv1.NewFleetClient(conn)
	for _, inc := range []uint64{s.Incarnation - 1, s.Incarnation + 1, s.Incarnation + 1000, math.MaxUint64} {
		for _, token := range []string{"", s.Token, "forged"} {
			sp := &vigilv1.Speaker{Agent: s.Agent, Incarnation: inc, Token: token}
			t.limited(ctx, "agent: another incarnation of itself", func(ctx context.Context) error {
				_, err := work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: sp})
				return err
			}, denied)
		}
	}
	for _, token := range []string{"", s.Token, "forged"} {
		t.limited(ctx, "agent: another agent with a token of another", func(ctx context.Context) error {
			_, err := work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: s.Victim.speaker(token)})
			return err
		}, denied)
	}
	for _, header := range Forged(s.Victim) {
		forged := metadata.AppendToOutgoingContext(ctx, header...)
		t.limited(forged, "agent: forged header "+header[0], func(ctx context.Context) error {
			_, err := fleet.CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: s.Task})
			return err
		}, denied, authDenied)
		t.limited(forged, "agent: forged header "+header[0], func(ctx context.Context) error {
			_, err := fleet.GetRoom(ctx, &vigilv1.GetRoomRequest{Room: s.Victim.room()})
			return err
		}, denied, authDenied)
		t.limited(forged, "agent: forged header "+header[0], func(ctx context.Context) error {
			_, err := work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: s.Victim.speaker("")})
			return err
		}, denied, authDenied)
	}
}

// Forged are headers by which somebody says to be another one: an admin, a server, its owner, a life, a program.
func Forged(v Victim) [][]string {
	return [][]string{
		{"vigil-claim", "user driver 1 0 0 - - 0"},
		{"vigil-claim", "root " + v.Server + " 0 0 0 - - 0"},
		{"vigil-claim", "server " + v.Server + " 1 0 0 - - 0", "vigil-forwarded", v.Server},
		{"vigil-on-behalf", fmt.Sprintf("%s/%d", v.Agent, v.Incarnation)},
		{"authorization", "Bearer vigil-api.1.forged"},
	}
}

// monsters sends what is too long, what a terminal would obey, and what is no call at all.
func (s Self) monsters(ctx context.Context, t *Tally, conn *grpc.ClientConn) {
	work, fleet, mail := vigilv1.NewWorkClient(conn), vigilv1.NewFleetClient(conn), vigilv1.NewMailboxClient(conn)
	own := &vigilv1.Speaker{Agent: s.Agent, Incarnation: s.Incarnation, Token: s.Token}
	refused := []string{denied, invalid, notFound, tooLarge}
	for _, name := range []string{strings.Repeat("a", 300<<10), Escapes, "../../etc/passwd", "a/\x00",
		s.Victim.Agent + "\n"} {
		t.limited(ctx, "agent: a monster for a name", func(ctx context.Context) error {
			_, err := fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: name})
			return err
		}, refused...)
		t.limited(ctx, "agent: a monster for a speaker", func(ctx context.Context) error {
			_, err := work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: &vigilv1.Speaker{Agent: name, Incarnation: 1}})
			return err
		}, refused...)
		t.limited(ctx, "agent: mail to a monster", func(ctx context.Context) error {
			_, err := mail.SendMail(ctx, &vigilv1.SendMailRequest{Speaker: own, To: name, Subject: "x"})
			return err
		}, append(refused, "agent_not_found")...)
	}
	t.limited(ctx, "agent: mail of 8 MiB", func(ctx context.Context) error {
		_, err := mail.SendMail(ctx, &vigilv1.SendMailRequest{Speaker: own, To: s.Agent, Body: strings.Repeat("x", 8<<20)})
		return err
	}, invalid, tooLarge)
	// Its own mail and notes hold what it likes, or are refused: package nemesis looks at how they are shown.
	t.limited(ctx, "agent: escape sequences in its mail", func(ctx context.Context) error {
		_, err := mail.SendMail(ctx, &vigilv1.SendMailRequest{Speaker: own, To: s.Agent, Subject: "escapes", Body: Escapes})
		return err
	}, done, invalid, "mailbox_full")
	t.limited(ctx, "agent: escape sequences in its note", func(ctx context.Context) error {
		_, err := work.SetResume(ctx, &vigilv1.SetResumeRequest{Speaker: own, Resume: Escapes})
		return err
	}, done, invalid)
	for _, bytes := range [][]byte{bytes.Repeat([]byte{0}, 64<<10), bytes.Repeat([]byte("A"), 1<<20),
		[]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 4096)),
		[]byte("GET /v1/rooms/lifecycle HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 1<<20))} {
		t.raw(ctx, "agent: bytes that are no call", bytes, s.dial)
	}
}

// raw sends bytes and judges what comes back: nothing, or an error, but no answer to a call.
func (t *Tally) raw(ctx context.Context, what string, text []byte, dial func(context.Context) (net.Conn, error)) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		t.note(what, "unavailable", err.Error(), nil)
		return
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end) // a connection of this system has deadlines
	_, _ = conn.Write(text)   // the other end may be gone by now, which it shows below
	got := make([]byte, 512)
	n, _ := conn.Read(got)
	code := closed
	if bytes.HasPrefix(got[:n], []byte("HTTP/1.1 2")) {
		code = done
	}
	t.note(what, code, fmt.Sprintf("%.100q", got[:n]), []string{closed})
}

// Bounds of a flood.
const (
	floodCalls   = 64
	floodFor     = time.Second
	floodBodies  = 64 << 10
	floodAnswers = "as many calls as it can make"
)

// flood makes calls of its own, as many as it can. They may be taken or refused; laws about others hold beside.
func (s Self) flood(ctx context.Context, t *Tally, conn *grpc.ClientConn) {
	fleet := vigilv1.NewFleetClient(conn)
	FloodWith(ctx, t, "agent: ", func(ctx context.Context, text string) error {
		_, err := fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: s.Agent + text})
		return err
	})
}

// FloodWith makes a call again and again, from many sides for a second, with and without a long text.
func FloodWith(ctx context.Context, t *Tally, who string, call func(ctx context.Context, text string) error) {
	ctx, cancel := context.WithTimeout(ctx, floodFor)
	defer cancel()
	var all sync.WaitGroup
	for i := range floodCalls {
		text := ""
		if i%2 == 0 {
			text = strings.Repeat("x", floodBodies)
		}
		all.Go(func() {
			for ctx.Err() == nil {
				err := call(ctx, text)
				if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
					return
				}
				t.Judge(who+floodAnswers, err, done, denied, invalid, notFound, tooLarge, superseded)
			}
		})
	}
	all.Wait()
}

// limited makes a call and judges its answer.
func (t *Tally) limited(ctx context.Context, what string, call func(context.Context) error, may ...string) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	t.Judge(what, call(ctx), may...)
}
