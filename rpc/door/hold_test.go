package door

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// nothing is a replica without a room.
type nothing struct{}

func (nothing) Read(fn func(*fsm.View))       { fn(&fsm.New().View) }
func (nothing) Barrier(context.Context) error { return nil }
func (nothing) Leader() Leader                { return Leader{} }

// Who hangs on a server is checked again: a stream of somebody who was revoked since ends within the
// interval, one that was opened with other rights too, and that of anybody else goes on.
func TestStreamsEndWhenTheirCallerIsRevoked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*registry)
		want   string // the code; "" goes on
	}{
		{"nothing has changed", func(*registry) {}, ""},
		{"revoked", func(r *registry) { r.revoke("user/anna", code.AuthDenied) }, code.AuthDenied},
		{"too old", func(r *registry) { r.revoke("user/anna", code.AuthExpired) }, code.AuthExpired},
		{"no right is left", func(r *registry) { r.give("user/anna", nil) }, code.Denied},
		{"another right", func(r *registry) {
			r.give("user/anna", []who.Right{{Role: code.Viewer, Room: "ops"}})
		}, code.Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &registry{rights: map[string][]who.Right{"user/anna": {{Role: code.Viewer, Room: "web"}}},
					revoked: map[string]string{}}
				g := &guard{self: "s1", identify: r, reader: nothing{}, leader: func() Leader { return Leader{Self: true} }}
				p, err := r.Principal(who.Claim{Kind: who.User, Name: "anna"})
				if err != nil {
					t.Fatal(err)
				}
				ctx, end := hold(t.Context(), g.still(&p, vigilv1.Fleet_WatchEvents_FullMethodName,
					func() any { return &vigilv1.WatchEventsRequest{} }))
				time.Sleep(recheckEvery + time.Second)
				if ctx.Err() != nil {
					t.Fatalf("it ended before anything has changed: %v", context.Cause(ctx))
				}
				tt.change(r)
				time.Sleep(recheckEvery + time.Second)
				if ended := ctx.Err() != nil; ended != (tt.want != "") {
					t.Fatalf("after the change: %v", context.Cause(ctx))
				}
				if err := end(ctx.Err()); tt.want != "" && codeOf(err) != tt.want {
					t.Errorf("the stream ended with %v, want %s", err, tt.want)
				}
				if err := end(errors.New("x")); tt.want == "" && err.Error() != "x" {
					t.Errorf("an error of the stream itself became %v", err)
				}
			})
		})
	}
}
