package door

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// guard finds out who calls, and whether they may. Every call passes it on every server that it
// reaches: the leader checks again what a follower has let through, by its own state. A nil guard
// lets everything through: that is a server without identities. Safe for concurrent use.
type guard struct {
	self     string // id of this server
	identify Identify
	reader   Reader
	leader   func() Leader // as far as this server knows
	denials  *denials
	quotas   *quotas
}

// caller is what a connection has shown.
type caller struct {
	claim who.Claim
	bad   error // the handshake has shown something that nobody can be
}

// claimOf is the claim of a connection of that state.
func claimOf(identify Identify, cs *tls.ConnectionState) caller {
	c, err := identify.Claim(cs)
	if err == nil && c.Kind == who.Root {
		err = errUnknown() // no certificate says so, only the private socket does
	}
	return caller{claim: c, bad: err}
}

// errForeign says that a caller speaks for somebody else. It is never shown.
var errForeign = errors.New("speaks for somebody else")

// enter finds out who calls: ctx has the principal from then on. An error is one of the identity,
// and the principal may be there all the same; see Identify.
func (g *guard) enter(ctx context.Context) (context.Context, *who.Principal, error) {
	claim, forwarded, err := g.claim(ctx)
	p := &who.Principal{Claim: claim}
	switch {
	case err != nil || claim.Kind == who.Nobody:
	case claim.Kind == who.Root:
		p.Rights = ownersRights
	default:
		var known who.Principal
		if known, err = g.identify.Principal(claim); err == nil || known.Kind != who.Nobody {
			*p = known
		}
	}
	if !forwarded {
		ctx = withoutMarks(ctx)
	}
	return who.With(ctx, p), p, err
}

// claim reads what a call brings, from the connection, from its token, or from the server that sends
// it on; forwarded tells that a server of the cluster does.
func (g *guard) claim(ctx context.Context) (c who.Claim, forwarded bool, err error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return c, false, errUnknown()
	}
	s, ok := from.AuthInfo.(shown)
	if !ok {
		return c, false, errUnknown()
	}
	told := metadata.ValueFromIncomingContext(ctx, code.HeaderClaim)
	switch {
	case s.caller == nil: // the gateway of this process tells what the connection of its request has shown
		if len(told) == 1 {
			c, err = who.Decode(told[0])
		}
	case s.caller.bad != nil:
		return c, false, s.caller.bad
	default:
		c = s.caller.claim
		forwarded = c.Kind == who.Server
	}
	if err != nil {
		return who.Claim{}, false, errUnknown()
	}
	if forwarded && len(told) > 0 {
		if _, err := g.identify.Principal(c); err != nil {
			// Nobody, and not the server: what it sends on must never be taken for its own. It could be a request for
			// a certificate, which the server may make however old its own is.
			return who.Claim{}, false, g.sendsNothingOn(c, err)
		}
		from := c.Name
		if c, err = who.Decode(told[0]); err != nil || len(told) > 1 || c.Kind == who.Root && c.Name != from {
			return who.Claim{}, false, errUnknown()
		}
		return c, true, nil
	}
	if bearer := metadata.ValueFromIncomingContext(ctx, "authorization"); len(bearer) > 0 && !forwarded {
		token, isBearer := cutBearer(bearer[0])
		if c, ok = who.ParseToken(token); !ok || !isBearer || len(bearer) > 1 {
			return who.Claim{}, false, errUnknown()
		}
		return c, false, nil
	}
	return g.onBehalf(ctx, c, forwarded)
}

// sendsNothingOn is the error of a call that was sent on by a server which may not do so: nothing is wrong with who
// has made it, who comes to the leader by itself then.
func (g *guard) sendsNothingOn(from who.Claim, why error) error {
	p := who.Principal{Claim: from}
	return &fault.Error{Code: code.NotLeader, Leader: g.leader().APIAddr,
		Text: fmt.Sprintf("%s may send nothing on: %s", &p, fault.Of(why).Text)}
}

// onBehalf adds for which life a host speaks; nobody else may say that.
func (g *guard) onBehalf(ctx context.Context, c who.Claim, forwarded bool) (who.Claim, bool, error) {
	lives := metadata.ValueFromIncomingContext(ctx, code.HeaderOnBehalf)
	if len(lives) == 0 || c.Kind != who.Host {
		return c, forwarded, nil
	}
	life, err := who.ParseLife(lives[0])
	if err != nil || len(lives) > 1 {
		return who.Claim{}, false, fault.Invalid("%s must be one ROOM/AGENT/INCARNATION.", code.HeaderOnBehalf)
	}
	life.Agent, _ = firstName(life.Agent)
	c.Life = life
	return c, forwarded, nil
}

func cutBearer(header string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(header, " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "bearer")
}

func errUnknown() error { return &fault.Error{Code: code.AuthDenied} }

// withoutMarks takes away what only servers may say of a call.
func withoutMarks(ctx context.Context) context.Context {
	marks := [...]string{code.HeaderForwarded, code.HeaderRelayed}
	if !slices.ContainsFunc(marks[:], func(m string) bool {
		return len(metadata.ValueFromIncomingContext(ctx, m)) > 0
	}) {
		return ctx
	}
	md, _ := metadata.FromIncomingContext(ctx) // a copy
	for _, m := range marks {
		delete(md, m)
	}
	return metadata.NewIncomingContext(ctx, md)
}

// pass gives the context of a call that this server sends on for the principal of ctx.
func (g *guard) pass(ctx context.Context) context.Context {
	if g == nil {
		return ctx
	}
	p := who.From(ctx)
	// What this server has called itself with is told: the link to the leader may show an older certificate,
	// and who renews by that is taken for a copy.
	if p.Kind == who.Local || p.Kind == who.Server && p.Name == g.self && p.Serial == "" {
		return ctx // it is this server's own
	}
	return metadata.AppendToOutgoingContext(ctx, code.HeaderClaim, p.Encode(), code.HeaderSource, remote(ctx))
}

// asServer gives the context of a call that this server makes for itself.
func (g *guard) asServer(ctx context.Context) context.Context {
	if g == nil {
		return ctx
	}
	return who.With(ctx, &who.Principal{Claim: who.Claim{Kind: who.Server, Name: g.self}})
}

// allow is nil when the principal may make the call with that request; unknown is what enter has
// said of the identity.
func (g *guard) allow(p *who.Principal, full string, req any, unknown error) error {
	permit, listed := code.PermitOf(full)
	if listed && permit.Anybody && (unknown == nil || permit.Outcast) {
		return nil
	}
	if unknown != nil && !(permit.Renews && fault.Of(unknown).Code == code.AuthExpired) {
		return unknown
	}
	if !listed {
		return fault.New(code.Denied, "%s may not make this call: this server knows no rule for it.", p)
	}
	if permit.Known && p.Kind != who.Nobody && !(permit.Renews && p.As() == who.Agent) { // it is its host's
		return nil
	}
	switch p.As() {
	case who.Server:
		if permit.Server && ownServer(p.Name, req) {
			return nil
		}
	case who.Host:
		return g.allowHost(p, &permit, req)
	case who.Agent:
		return g.allowAgent(p, &permit, req)
	case who.User, who.APIToken, who.Root:
		return g.allowPerson(p, &permit, req)
	case who.Nobody:
		if permit.Life && hasToken(req) && g.withinRoom(req) {
			return g.ownToken(req)
		}
	}
	return notFor(p, &permit)
}

func (g *guard) allowHost(p *who.Principal, permit *code.Permit, req any) error {
	if permit.Life {
		if b, ok := req.(*vigilv1.BeatRequest); !ok || b.GetHost() == 0 {
			if hasToken(req) && g.withinRoom(req) {
				return nil
			}
			sp := speakerOf(req)
			if sp.GetAgent() == "" || sp.GetIncarnation() == 0 || !g.withinRoom(req) {
				return notFor(p, permit)
			}
			return orNotFor(p, permit, g.speaksOn(p.Name, who.Life{Agent: sp.GetAgent(), Incarnation: sp.GetIncarnation()}))
		}
	}
	if !permit.Host {
		return notFor(p, permit)
	}
	return orNotFor(p, permit, g.ownHost(p.Name, req))
}

// allowAgent lets an agent do its own work, and what its role was granted beside.
func (g *guard) allowAgent(p *who.Principal, permit *code.Permit, req any) error {
	err := g.allowOwn(p, permit, req)
	if err != nil && fault.Of(err).Code == code.Denied && g.granted(p, permit, req) {
		return nil
	}
	return err
}

func (g *guard) allowOwn(p *who.Principal, permit *code.Permit, req any) error {
	if !permit.Life && !permit.Reads || !g.withinRoom(req) {
		return notFor(p, permit)
	}
	if permit.Life {
		if err := g.ownLife(p.Life, req); err != nil {
			return notFor(p, permit)
		}
		if hasToken(req) {
			return nil
		}
		return orNotFor(p, permit, g.speaksOn(p.Name, p.Life))
	}
	if err := g.readsOn(p.Name, p.Life); err != nil {
		return orNotFor(p, permit, err)
	}
	if !g.readsOwn(p.Life.Agent, req) {
		return notFor(p, permit)
	}
	return nil
}

func (g *guard) allowPerson(p *who.Principal, permit *code.Permit, req any) error {
	if permit.Life && hasToken(req) && g.withinRoom(req) {
		return nil
	}
	if permit.Role == code.NoRole {
		return notFor(p, permit)
	}
	rooms := []string{everywhere}
	switch permit.Reach {
	case code.InRoom:
		rooms = roomsOf(g.reader, req)
	case code.Anywhere:
		if rooms = roomsOf(g.reader, req); len(rooms) == 1 && rooms[0] == everywhere {
			if p.MaySomewhere(permit.Role) {
				return nil
			}
		}
	}
	for _, room := range rooms {
		if !p.May(permit.Role, room) {
			return lacks(p, permit, room)
		}
	}
	return mayGrant(p, req)
}

// lacks says which right a person would need, and of a room only to those who may see it.
func lacks(p *who.Principal, permit *code.Permit, room string) error {
	switch {
	case room != everywhere && p.May(code.Viewer, room):
		return fault.New(code.Denied, "%s may not %s in room %s: needs %s.", p, permit.Does, room, permit.Role)
	case permit.Reach == code.Cluster:
		return fault.New(code.Denied, "%s may not %s: needs %s in all rooms.", p, permit.Does, permit.Role)
	}
	return fault.New(code.Denied, "%s may not %s there: needs %s in its room, and in all rooms where the call "+
		"names none.", p, permit.Does, permit.Role)
}

// notFor refuses a call that is not for callers of that kind, or not about what is theirs.
func notFor(p *who.Principal, permit *code.Permit) error {
	text := fmt.Sprintf("%s may not %s", p, permit.Does)
	switch p.As() {
	case who.Nobody:
		if permit.Life {
			return fault.New(code.Denied, "%s without the token of a life, and with one within its room only.", text)
		}
		return fault.New(code.Denied, "%s: show a certificate or an API token.", text)
	case who.Server, who.Host, who.Agent:
		return fault.New(code.Denied, "%s, or not for another one than itself.", text)
	}
	return fault.New(code.Denied, "%s: no person does that.", text)
}

// orNotFor is notFor where a request speaks for somebody else.
func orNotFor(p *who.Principal, permit *code.Permit, err error) error {
	if err == errForeign {
		return notFor(p, permit)
	}
	return err
}

// denied counts a refusal and writes it down; m is nil for a method that this server does not know.
func (g *guard) denied(ctx context.Context, m *method, p *who.Principal, err error) {
	if m == nil || fault.Of(err).Code == code.NoLeader { // nobody knows yet
		return
	}
	if m.name == carryName { // every client tries, and whoever may not makes its calls one by one
		return
	}
	g.denials.note(m.name, p, remote(ctx), err)
}

// sign puts the name of the principal where a request says who has made it: what identities tell
// nobody says by itself.
func sign(p *who.Principal, req any) {
	if p.Kind == who.Local {
		return
	}
	m, ok := req.(proto.Message)
	if !ok {
		return
	}
	switch r := req.(type) {
	case *vigilv1.BatchRequest:
		for _, w := range r.GetWrites() {
			if op := w.GetCreateTask(); op != nil {
				sign(p, op)
			}
		}
		return
	case *vigilv1.SendMailRequest:
		if r.GetSpeaker() == nil {
			r.From = p.By()
		}
		return
	}
	field := m.ProtoReflect().Descriptor().Fields().ByName("by")
	if field != nil && field.Kind() == protoreflect.StringKind && !field.IsList() {
		m.ProtoReflect().Set(field, protoreflect.ValueOfString(p.By()))
	}
}
