package rpc

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/gen/vigilv1"
)

func TestS13WaitChecksTheTokenBeforeItParks(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	thief := &vigilv1.Speaker{Agent: me.GetAgent(), Incarnation: me.GetIncarnation(), Token: "of another"}
	if _, err := w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: thief}); codeOf(err) != "denied" {
		t.Fatalf("with the token of another: %v, want denied", err)
	}
	w.parkedAt(1, 0)
}

func TestS13WatchesAndBackupsAreCounted(t *testing.T) {
	w := start(t, 1)
	w.servers[0].watches.Most = 1
	first := w.watch(within(t), 0, &vigilv1.WatchEventsRequest{Tail: true})
	if _, err := first.Header(); err != nil {
		t.Fatal(err)
	}
	second, err := w.fleet(0).WatchEvents(within(t), &vigilv1.WatchEventsRequest{Tail: true})
	if err == nil {
		_, err = second.Recv()
	}
	if codeOf(err) != "unavailable" || !strings.Contains(err.Error(), "1 watches") {
		t.Errorf("a second watch: %v, want unavailable with the number", err)
	}

	for range maxSaves {
		if !w.servers[0].saves.Take() {
			t.Fatal("no place for a backup")
		}
	}
	save := func() error {
		s, err := w.cluster(0).SaveSnapshot(within(t), &vigilv1.SaveSnapshotRequest{})
		for err == nil {
			_, err = s.Recv()
		}
		return err
	}
	if err := save(); codeOf(err) != "unavailable" {
		t.Errorf("one backup too many: %v, want unavailable", err)
	}
	w.servers[0].saves.Give()
	for range 3 { // each gives its place back
		if err := save(); err != io.EOF {
			t.Errorf("a backup when there is a place: %v", err)
		}
	}
}

// S13: what comes before a call is bounded as the call is.
func TestS13HeadersAreBounded(t *testing.T) {
	w := start(t, 1)
	for size, refused := range map[int]bool{32 << 10: false, 128 << 10: true} {
		filler := strings.Repeat("x", size)
		ctx := metadata.AppendToOutgoingContext(within(t), "filler", filler)
		if _, err := w.cluster(0).Status(ctx, &vigilv1.StatusRequest{}); (err != nil) != refused {
			t.Errorf("a call with %d bytes of metadata: %v", size, err)
		}
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, "http://"+w.nodes[0].addr+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Filler", filler)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want := map[bool]int{false: http.StatusOK,
			true: http.StatusRequestHeaderFieldsTooLarge}[refused]; resp.StatusCode != want {
			t.Errorf("a request with %d bytes of headers: %s, want %d", size, resp.Status, want)
		}
	}
}
