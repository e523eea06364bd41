package door

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
)

// What people and API tokens change leaves a note beside the command in the log: who, which call, from
// where, and a digest of the request, never the request. A handler asks for it when it writes.

// audited is a call that is to be noted.
type audited struct {
	full string
	req  any // nil: of a stream, which has no digest
}

type auditKey struct{}

// withAudit gives the context of a call that p makes; what it writes is noted when a person may be
// asked for it later.
func withAudit(ctx context.Context, p *who.Principal, full string, req any) context.Context {
	if !toAudit(p, full, req) {
		return ctx
	}
	return context.WithValue(ctx, auditKey{}, &audited{full, req})
}

// toAudit tells whether a call is noted: it changes something, and is made by a person, by an API token
// or through the private socket of a server, in their own name. Whoever has shown the token of a life
// speaks as that life.
func toAudit(p *who.Principal, full string, req any) bool {
	permit, _ := code.PermitOf(full)
	return (p.Kind == who.User || p.Kind == who.APIToken || p.Kind == who.Root) && permit.Role >= code.Operator &&
		code.NatureOf(full) != code.Read && !(permit.Life && hasToken(req))
}

// AuditOf is the note about the call of ctx; none: it is not noted.
func (d *Door) AuditOf(ctx context.Context) []fsm.AuditNote {
	a, ok := ctx.Value(auditKey{}).(*audited)
	if !ok {
		return nil
	}
	return d.noteOf(ctx, a.full, a.req)
}

// Audit is the note about a call that a handler makes for the caller of ctx as a part of another one;
// none: it is not noted.
func (d *Door) Audit(ctx context.Context, full string, req any) []fsm.AuditNote {
	if !toAudit(who.From(ctx), full, req) {
		return nil
	}
	return d.noteOf(ctx, full, req)
}

func (d *Door) noteOf(ctx context.Context, full string, req any) []fsm.AuditNote {
	room := ""
	if rooms := roomsOf(d.reader, req); len(rooms) == 1 {
		room = noun.Clip(rooms[0], noun.MaxAuditRoom)
	}
	return []fsm.AuditNote{{Who: who.From(ctx).By(), Method: shortName(full), Room: room,
		Source: noun.Clip(remote(ctx), noun.MaxAuditSource), Digest: digest(req)}}
}

// shortName is the name of a method as people read it: Fleet/ApplyRoom.
func shortName(full string) string {
	return strings.TrimPrefix(full, "/vigil.v1.")
}

// digest is the first half of the SHA-256 sum of a request, in hexadecimal digits, without the write id:
// equal requests have equal digests. Empty: there is no request.
func digest(req any) string {
	m, ok := req.(proto.Message)
	if !ok {
		return ""
	}
	r := m.ProtoReflect()
	if id := r.Descriptor().Fields().ByName("id"); id != nil && id.Message() != nil && r.Has(id) {
		was := r.Get(id)
		r.Clear(id) // a copy of the whole request would take longer than all the rest
		defer r.Set(id, was)
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return "" // of what was unmarshaled before: it cannot fail
	}
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:noun.MaxDigest/2])
}
