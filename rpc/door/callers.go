package door

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
)

// Calls over HTTP take the same way as all others, over a connection inside this process: what their
// own connection has shown goes along in a header. Headers of requests are never handed on by
// themselves, so nobody else can say it.

type callerKey struct{}

type bornKey struct{}

// withCaller keeps what the connection of a request has shown, and when it began.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	ctx = context.WithValue(ctx, bornKey{}, time.Now())
	if s, ok := c.(*sniffedConn); ok && s.caller != nil {
		return context.WithValue(ctx, callerKey{}, s.caller)
	}
	return ctx
}

// replaced has clients of HTTP/1.1 open another connection once theirs is older than age: it shows the certificate of
// when it began. To others gRPC says so.
func replaced(age time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if born, ok := r.Context().Value(bornKey{}).(time.Time); ok && time.Since(born) > age {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// refusedClaim cannot be read: the connection has shown something that nobody can be.
const refusedClaim = "refused"

// passCaller adds to md who sends a request.
func passCaller(ctx context.Context, r *http.Request, md metadata.MD) metadata.MD {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return md
	}
	claim := refusedClaim
	if c.bad == nil {
		claim = c.claim.Encode()
	}
	md = metadata.Join(md, metadata.Pairs(code.HeaderClaim, claim))
	if lives := r.Header.Values(code.HeaderOnBehalf); len(lives) > 0 {
		md.Set(code.HeaderOnBehalf, lives...)
	}
	return md
}

// bearerOf is the token of a request; the library of the gateway adds it by itself.
func bearerOf(r *http.Request) metadata.MD {
	if tokens := r.Header.Values("Authorization"); len(tokens) > 0 {
		return metadata.MD{"authorization": tokens}
	}
	return nil
}

// enterHTTP is enter for what is no call.
func (g *guard) enterHTTP(r *http.Request) (*who.Principal, error) {
	ctx := peer.NewContext(r.Context(), &peer.Peer{AuthInfo: shown{}})
	ctx = metadata.NewIncomingContext(ctx, metadata.Join(passCaller(r.Context(), r, nil), bearerOf(r)))
	_, p, err := g.enter(ctx)
	return p, err
}

// forViewers shows a page to those who may look at the whole cluster.
func (d *Door) forViewers(g *gateway, page http.Handler) http.Handler {
	if d.guard == nil {
		return page
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := d.guard.enterHTTP(r)
		if err == nil && !p.May(code.Viewer, everywhere) {
			err = fault.New(code.Denied, "%s may not look at %s: needs viewer in all rooms.", p, r.URL.Path)
		}
		if err != nil {
			d.guard.denials.note("GET "+r.Pattern[strings.LastIndex(r.Pattern, "/"):], p, r.RemoteAddr, err)
			g.write(w, fault.Of(err))
			return
		}
		page.ServeHTTP(w, r)
	})
}

// remote is where the caller of ctx is; of a call over HTTP the connection inside this process does
// not tell, but its gateway does, and of one that another server sends on that server.
func remote(ctx context.Context) string {
	pr, ok := peer.FromContext(ctx)
	if !ok || pr.Addr == nil {
		return ""
	}
	s, known := pr.AuthInfo.(shown)
	if known && s.caller == nil {
		if via := metadata.ValueFromIncomingContext(ctx, "x-forwarded-for"); len(via) > 0 {
			last := via[len(via)-1]
			return strings.TrimSpace(last[strings.LastIndex(last, ",")+1:])
		}
	}
	if known && s.caller != nil && s.caller.claim.Kind == who.Server {
		if told := metadata.ValueFromIncomingContext(ctx, code.HeaderSource); len(told) == 1 {
			return noun.Clip(told[0], noun.MaxAuditSource)
		}
	}
	return pr.Addr.String()
}
