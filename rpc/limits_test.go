package rpc

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
	"vigil/rpc/fault"
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

func TestS13ConnectionsAreCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newSplitter(l, 2, 1)
	ended := make(chan error, 1)
	go func() { ended <- s.run() }()
	defer func() {
		_ = s.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	dial := func(first string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, first); err != nil {
			t.Fatal(err)
		}
		return c
	}
	refused := func(what string, c net.Conn) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // a failing test ends
		if _, err := c.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Fatalf("%s is kept: %v", what, err)
		}
	}
	dial("GET / HTTP/1.1\r\n")
	first, err := s.http.Accept()
	if err != nil {
		t.Fatal(err)
	}
	refused("a second connection of HTTP", dial("GET / HTTP/1.1\r\n"))
	dial(http2Preface)
	if _, err := s.grpc.Accept(); err != nil { // the other kind has its place
		t.Fatal(err)
	}
	refused("a third connection", dial(http2Preface))
	for range 2 { // a place is given back once
		_ = first.Close()
	}
	dial("GET / HTTP/1.1\r\n")
	if _, err := s.http.Accept(); err != nil {
		t.Fatal(err)
	}
	refused("a third connection after one has ended", dial(http2Preface))
}

func TestS13WatchesAndBackupsAreCounted(t *testing.T) {
	w := start(t, 1)
	w.servers[0].watch.places.most = 1
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
		if !w.servers[0].saves.take() {
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
	w.servers[0].saves.give()
	for range 3 { // each gives its place back
		if err := save(); err != io.EOF {
			t.Errorf("a backup when there is a place: %v", err)
		}
	}
}

// S13: what comes before a call is bounded as the call is.
func TestS13HeadersAreBounded(t *testing.T) {
	w := start(t, 1)
	for size, refused := range map[int]bool{maxHeader / 2: false, 2 * maxHeader: true} {
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
		if want := map[bool]int{false: http.StatusOK, true: http.StatusRequestHeaderFieldsTooLarge}[refused]; resp.StatusCode != want {
			t.Errorf("a request with %d bytes of headers: %s, want %d", size, resp.Status, want)
		}
	}
}

func TestS13BodiesThatDoNotComeAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = near.Close(); _ = far.Close() }()
		began := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := readBody(&stalled{far}, far)
			done <- err
		}()
		if err := <-done; err == nil || fault.Of(err).Code != code.Timeout {
			t.Errorf("a body that does not come: %v, want timeout", err)
		}
		if took := time.Since(began); took != bodyLimit {
			t.Errorf("waited %s, want %s", took, bodyLimit)
		}
	})
}

// stalled lets the reader of a body set the deadline of its connection.
type stalled struct{ conn net.Conn }

func (s *stalled) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }
