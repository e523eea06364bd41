package rpc

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// leaseLeft is how long the lease of the first agent goes on.
func (w *world) leaseLeft() (d time.Duration) {
	w.nodes[0].Read(func(st *fsm.View) { d = st.Lease(1).Until.Sub(st.Clock()) })
	return d
}

// An agent that joined and reports over HTTP, through a follower too, needs no beats.
func TestN26WordsOverHTTPKeepTheLease(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	made := w.task(0, "demo", "builder", "t")
	claim, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me})
	if err != nil || claim.GetTask().GetId() != made.GetId() {
		t.Fatalf("claim: %v, %v", claim, err)
	}
	for n := range 6 {
		w.advance(50 * time.Second)
		body := fmt.Sprintf(`{"speaker":{"agent":"demo/builder","incarnation":"%d"},"task":"%d","attempt":%d,"text":"on it"}`,
			me.GetIncarnation(), made.GetId(), claim.GetAttempt())
		if status, got, _ := w.call(n%2, "POST", "/v1/work:progress", body); status != 200 {
			t.Fatalf("progress %d: %d %v", n, status, got)
		}
		if left := w.leaseLeft(); left != time.Minute {
			t.Errorf("the lease goes on for %s after word %d", left, n)
		}
	}
}

// Repeats, and what was said long ago, prove nothing, whoever marks them.
func TestN26RepeatedAndLateWordsRenewNothing(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	w.advance(20 * time.Second)
	n := 0
	say := func(i int, pairs ...string) time.Duration {
		n++
		ctx := metadata.AppendToOutgoingContext(within(t), pairs...)
		if _, err := w.work(i).Declare(ctx, &vigilv1.DeclareRequest{Speaker: me, Status: "healthy",
			Text: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
		return w.leaseLeft()
	}
	for i := range 2 {
		for _, pairs := range [][]string{{code.HeaderRepeat, "1"}, {code.HeaderSaid, "15000"},
			{code.HeaderSaid, "soon"}, {code.HeaderSaid, "1", code.HeaderSaid, "20000"}} {
			if left := say(i, pairs...); left != 40*time.Second {
				t.Errorf("server %d, %v: the lease goes on for %s, want 40 s", i, pairs, left)
			}
		}
	}
	if left := say(1, code.HeaderSaid, "14000"); left != time.Minute {
		t.Errorf("a word of 14 s ago: the lease goes on for %s, want 1 min", left)
	}
}

// So it is over HTTP, which SDKs speak.
func TestN26RepeatedWordsOverHTTPRenewNothing(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	w.advance(20 * time.Second)
	for i := range 2 {
		for _, one := range []struct {
			header, value string
			left          time.Duration
		}{{code.HeaderRepeat, "1", 40 * time.Second}, {code.HeaderSaid, "15000", 40 * time.Second}} {
			body := fmt.Sprintf(`{"speaker":{"agent":"demo/builder","incarnation":"%d"},"text":"%d %s"}`,
				me.GetIncarnation(), i, one.header)
			r, err := http.NewRequestWithContext(within(t), http.MethodPost, "http://"+w.nodes[i].addr+"/v1/work:declare",
				strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(one.header, one.value)
			if status, got, _ := w.sent(r); status != http.StatusOK {
				t.Fatalf("declare: %d %v", status, got)
			}
			if left := w.leaseLeft(); left != one.left {
				t.Errorf("server %d, %s %s: the lease goes on for %s, want %s", i, one.header, one.value, left, one.left)
			}
		}
	}
}
