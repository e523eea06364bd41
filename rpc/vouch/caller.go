package vouch

import (
	"context"

	"vigil/rpc/door/who"
	"vigil/rpc/trust"
)

// callerOf gives whose certificate a call came with; false: it came without one.
func callerOf(ctx context.Context) (trust.Peer, bool) {
	switch p := who.From(ctx); p.Kind {
	case who.Server, who.Host, who.User:
		return trust.Peer{Name: trust.Name{Kind: trust.Kind(p.Kind), ID: p.Name},
			Stamp: trust.Stamp{Clock: p.Clock, Epoch: p.Epoch, Generation: p.Generation}, Serial: p.Serial}, true
	}
	return trust.Peer{}, false
}

// byWhom names the caller in what is written; empty: nobody is known by an identity.
func byWhom(ctx context.Context) string { return who.ByWhom(ctx, "") }
