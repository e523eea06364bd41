package rpc

import (
	"context"
	"testing"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// A leader that was deposed and does not know it answers nothing from its own old state:
// neither that there is no mail nor that there is no task. The call ends with its successor.
func TestF20ADeposedLeaderDoesNotSayThatThereIsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*world)
		asks    func(context.Context, *world, *vigilv1.Speaker) (found bool, err error)
	}{
		"no mail": {
			happens: func(w *world) {
				if _, err := w.mail(1).SendMail(within(w.t), &vigilv1.SendMailRequest{From: "ann",
					To: "demo/builder", Subject: "s", Body: "b"}); err != nil {
					w.t.Fatal(err)
				}
			},
			asks: func(ctx context.Context, w *world, me *vigilv1.Speaker) (bool, error) {
				r, err := w.mail(0).ReadMail(ctx, &vigilv1.ReadMailRequest{Speaker: me})
				return len(r.GetMails()) == 1, err
			},
		},
		"no task for a waiter that was woken": {
			happens: func(w *world) { w.task(1, "demo", "builder", "t") },
			asks: func(ctx context.Context, w *world, me *vigilv1.Speaker) (bool, error) {
				r, err := w.work(0).Claim(metadata.AppendToOutgoingContext(ctx, code.HeaderWoken, "1"),
					&vigilv1.ClaimRequest{Speaker: me})
				return r.GetTask().GetTitle() == "t", err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, 3)
			w.room("demo", "builder", 1)
			me := w.join("demo/builder")
			w.nodes[0].hold()
			w.elect(w.nodes[1])
			tc.happens(w)
			type answer struct {
				found bool
				err   error
			}
			got, ctx := make(chan answer, 1), within(t)
			go func() {
				found, err := tc.asks(ctx, w, me)
				got <- answer{found, err}
			}()
			eventually(t, "an answer or a question to the log", func() bool {
				return w.barred.Load() > 0 ||
					len(got) > 0
			})
			if len(got) > 0 {
				a := <-got
				t.Fatalf("the deposed leader answered: found %v, %v", a.found, a.err)
			}
			w.nodes[0].release()
			if a := <-got; a.err != nil || !a.found {
				t.Errorf("found %v, %v", a.found, a.err)
			}
		})
	}
}
