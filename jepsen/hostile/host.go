package hostile

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Machine is a host with an identity of its own that attacks. It offers no runner, so nothing is started on it.
type Machine struct {
	Key  string
	Self *trust.Holder
	conn *grpc.ClientConn // to one server
	id   uint32           // in the cluster
}

// Enter connects a host to a server and registers it.
func Enter(ctx context.Context, self *trust.Holder, server string) (*Machine, error) {
	p, ok := self.Self()
	if !ok {
		return nil, errors.New("the hostile host has no certificate")
	}
	m := &Machine{Key: p.ID, Self: self}
	var err error
	if m.conn, err = Dial(self.Client(nil), server); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	resp, err := vigilv1.NewHostAgentClient(m.conn).Register(ctx,
		&vigilv1.RegisterRequest{Key: p.ID, Name: p.ID, Boot: "hostile"})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.id = resp.GetHost()
	return m, nil
}

// Dial connects to one server.
func Dial(conf *tls.Config, server string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+server, grpc.WithTransportCredentials(credentials.NewTLS(conf)))
}

// Close ends its connection. The host stays registered.
func (m *Machine) Close() error { return m.conn.Close() }

// Stranger is how somebody without a certificate connects.
func Stranger(self *trust.Holder) *tls.Config { return trust.NewHolder(self.Roots()).Client(nil) }

// Calls makes every call about the victim, which is on another host.
func (m *Machine) Calls(ctx context.Context, t *Tally, v Victim) {
	// Hosts may look at any agent; and what is sent over a stream of calls is judged call by call.
	Everything(ctx, t, m.conn, "host:", v, "/vigil.v1.Fleet/GetAgent", "/vigil.v1.Calls/Carry")
}

// CallsOf makes every call about the victim as somebody without a certificate.
func CallsOf(ctx context.Context, t *Tally, stranger *grpc.ClientConn, v Victim) {
	Everything(ctx, t, stranger, "stranger:", v)
	for _, header := range Forged(v) {
		forged := metadata.AppendToOutgoingContext(ctx, header...)
		t.limited(forged, "stranger: forged header "+header[0], func(ctx context.Context) error {
			_, err := vigilv1.NewClusterClient(stranger).PutSettings(ctx, &vigilv1.PutSettingsRequest{
				Values: map[string]string{"flap_limit": "0"}})
			return err
		}, denied, authDenied)
	}
}

// Forges reports about the victim as its own, and as the victim's host, and speaks for it.
func (m *Machine) Forges(ctx context.Context, t *Tally, v Victim) {
	agent, work := vigilv1.NewHostAgentClient(m.conn), vigilv1.NewWorkClient(m.conn)
	refused := []string{denied, superseded, notFound, "conflict", invalid}
	for _, inc := range []uint64{v.Incarnation - 1, v.Incarnation, v.Incarnation + 1, math.MaxUint64} {
		if inc == 0 {
			continue
		}
		for name, report := range map[string]func(context.Context) error{
			"acceptance": func(ctx context.Context) error {
				_, err := agent.AcceptOrder(ctx, &vigilv1.AcceptOrderRequest{Host: m.id, Boot: "hostile", Agent: v.AgentID,
					Incarnation: inc, TokenHash: make([]byte, 32)})
				return err
			},
			"start": func(ctx context.Context) error {
				_, err := agent.ReportStarted(ctx, &vigilv1.ReportStartedRequest{Host: m.id, Agent: v.AgentID,
					Incarnation: inc, Pid: 1})
				return err
			},
			"exit": func(ctx context.Context) error {
				_, err := agent.ReportExit(ctx, &vigilv1.ReportExitRequest{Host: m.id, Agent: v.AgentID, Incarnation: inc,
					Reason: Escapes, Tail: Escapes})
				return err
			},
			"stuck": func(ctx context.Context) error {
				_, err := agent.ReportStuck(ctx, &vigilv1.ReportStuckRequest{Host: m.id, Agent: v.AgentID,
					Incarnation: inc, Reason: "x"})
				return err
			},
		} {
			may := refused
			if name == "exit" {
				// The end of a life that is not on the host is done with, whatever follows elsewhere. If it
				// ended that life, check false deaths would find it.
				may = append(slices.Clone(refused), done)
			}
			t.limited(ctx, "host: forged report of "+name, report, may...)
		}
		t.Beat(ctx, work, &vigilv1.BeatRequest{Host: m.id, Boot: "hostile", Agents: []uint32{v.AgentID},
			Incarnations: []uint64{inc}, Kinds: []uint32{2 | 4}}) // vouches, and renews its fence
		on := v
		on.Incarnation = inc
		for _, token := range []string{"", "forged"} {
			t.limited(ctx, "host: words of a life elsewhere", func(ctx context.Context) error {
				_, err := work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: on.speaker(token)})
				return err
			}, refused...)
			behalf := metadata.AppendToOutgoingContext(ctx, "vigil-on-behalf", fmt.Sprintf("%s/%d", v.Agent, inc))
			t.limited(behalf, "host: on behalf of a life elsewhere", func(ctx context.Context) error {
				_, err := work.Leave(ctx, &vigilv1.LeaveRequest{Speaker: on.speaker(token)})
				return err
			}, refused...)
		}
	}
	for _, header := range Forged(v) {
		forged := metadata.AppendToOutgoingContext(ctx, header...)
		t.limited(forged, "host: forged header "+header[0], func(ctx context.Context) error {
			_, err := vigilv1.NewFleetClient(m.conn).CancelTask(ctx, &vigilv1.CancelTaskRequest{Task: v.Task})
			return err
		}, denied, authDenied)
	}
	t.limited(ctx, "host: registers another host", func(ctx context.Context) error {
		_, err := agent.Register(ctx, &vigilv1.RegisterRequest{Key: v.Key, Name: "h", Boot: "hostile"})
		return err
	}, denied)
}

// Beat beats for somebody else's life: the answer must name it as one that was not renewed.
func (t *Tally) Beat(ctx context.Context, work vigilv1.WorkClient, r *vigilv1.BeatRequest) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	const what = "host: beat for a life elsewhere"
	resp, err := work.Beat(ctx, r)
	switch {
	case err != nil:
		t.Judge(what, err, denied, superseded, notFound, invalid)
	case len(resp.GetExceptions()) == 1 || resp.GetHostGone():
		t.note(what, "not renewed", "", []string{"not renewed"})
	default:
		t.note(what, done, resp.String(), []string{"not renewed"})
	}
}

// Flood beats for itself as often as it can.
func (m *Machine) Flood(ctx context.Context, t *Tally) {
	agent := vigilv1.NewHostAgentClient(m.conn)
	FloodWith(ctx, t, "host: ", func(ctx context.Context, text string) error {
		_, err := agent.ReportPressure(ctx, &vigilv1.ReportPressureRequest{Host: m.id, Boot: "hostile", Reason: text})
		return err
	})
}

// Token is a token by which somebody has joined.
type Token struct {
	ID     uint64
	Secret []byte
}

// ParseToken reads the last two parts of a token.
func ParseToken(word string) (Token, error) {
	parts := strings.Split(word, ".")
	if len(parts) != 5 {
		return Token{}, fmt.Errorf("a token has %d parts, want 5", len(parts))
	}
	id, err := strconv.ParseUint(parts[3], 10, 64)
	if err != nil {
		return Token{}, errors.New("a token has no number")
	}
	secret, err := base64.RawURLEncoding.DecodeString(parts[4])
	return Token{id, secret}, err
}

// Replay uses a token of one use that was used by the name.
func (k Token) Replay(ctx context.Context, t *Tally, stranger *grpc.ClientConn, name string) error {
	_, csr, err := request()
	if err != nil {
		return err
	}
	for _, use := range []struct {
		what, kind, name string
		token            Token
		may              []string
	}{
		{"by another host", "host", "hostile", k, []string{denied}},
		{"by its host with another key", "host", name, k, []string{denied}},
		{"by a server", "server", "hostile", k, []string{denied}},
		{"with another secret", "host", "hostile", Token{k.ID, make([]byte, 32)}, []string{denied}},
		{"of another number", "host", "hostile", Token{math.MaxUint64, k.Secret}, []string{denied}},
		{"with a monster for a secret", "host", "hostile", Token{k.ID, make([]byte, 256<<10)},
			[]string{invalid, denied, tooLarge}},
		{"with a monster for a name", "host", Escapes, k, []string{invalid}},
	} {
		t.limited(ctx, "token: used again "+use.what, func(ctx context.Context) error {
			_, err := vigilv1.NewTrustClient(stranger).Join(ctx, &vigilv1.JoinTrustRequest{Token: use.token.ID,
				Secret: use.token.Secret, Csr: csr, Kind: use.kind, Name: use.name})
			return err
		}, use.may...)
	}
	t.limited(ctx, "token: used again for a login", func(ctx context.Context) error {
		_, err := vigilv1.NewTrustClient(stranger).Login(ctx, &vigilv1.LoginRequest{Token: k.ID, Secret: k.Secret, Csr: csr,
			User: "driver"})
		return err
	}, denied)
	return nil
}

func request() (*ecdsa.PrivateKey, []byte, error) {
	key, err := trust.NewKey()
	if err != nil {
		return nil, nil, err
	}
	csr, err := trust.Request(key)
	return key, csr, err
}

// Clone renews the certificate of the host twice for different keys, as two machines with one key do: the
// second one is refused. err says that not even the first one was taken, so that nothing was tried.
func (m *Machine) Clone(ctx context.Context, t *Tally) error {
	renew := func(ctx context.Context) error {
		_, csr, err := request()
		if err == nil {
			_, err = vigilv1.NewTrustClient(m.conn).Renew(ctx, &vigilv1.RenewTrustRequest{Csr: csr})
		}
		return err
	}
	call, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := renew(call); err != nil {
		return err
	}
	t.limited(ctx, "key: renewed on two machines", renew, authDenied)
	return nil
}

// Stolen uses the key of the host after it was revoked, on its connection and on a new one.
func (m *Machine) Stolen(ctx context.Context, t *Tally, server string) error {
	again, err := Dial(m.Self.Client(nil), server)
	if err != nil {
		return err
	}
	defer again.Close()
	for what, conn := range map[string]*grpc.ClientConn{"on its connection": m.conn, "on a new connection": again} {
		agent := vigilv1.NewHostAgentClient(conn)
		for name, call := range map[string]func(context.Context) error{
			"registers": func(ctx context.Context) error {
				_, err := agent.Register(ctx, &vigilv1.RegisterRequest{Key: m.Key, Name: m.Key, Boot: "hostile"})
				return err
			},
			"beats": func(ctx context.Context) error {
				_, err := vigilv1.NewWorkClient(conn).Beat(ctx, &vigilv1.BeatRequest{Host: m.id, Boot: "hostile"})
				return err
			},
			"renews": func(ctx context.Context) error {
				_, csr, err := request()
				if err == nil {
					_, err = vigilv1.NewTrustClient(conn).Renew(ctx, &vigilv1.RenewTrustRequest{Csr: csr})
				}
				return err
			},
			"takes orders": func(ctx context.Context) error {
				s, err := agent.Stream(ctx)
				if err == nil {
					err = s.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: m.id,
						Boot: "hostile"}}})
				}
				if err == nil || s != nil {
					_, err = s.Recv()
				}
				return err
			},
		} {
			t.limited(ctx, "key: revoked, "+name+" "+what, call, authDenied)
		}
	}
	return nil
}
