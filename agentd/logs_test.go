package agentd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// logData waits for the next piece of a request.
func (s *fakeStream) logData(t *testing.T, request uint64) *vigilv1.LogData {
	t.Helper()
	for {
		if d := next(t, s.heard).GetLogData(); d != nil {
			if d.GetRequest() != request {
				t.Fatalf("data of request %d, want %d", d.GetRequest(), request)
			}
			return d
		}
	}
}

func (s *fakeStream) askLog(t *testing.T, request uint64, lines uint32, follow bool) {
	t.Helper()
	s.send(t, &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_LogRequest{LogRequest: &vigilv1.LogRequest{
		Request: request, Agent: 1, AgentName: "demo/r1", Lines: lines, Follow: follow}}})
}

func TestLogsFollowAcrossRotation(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) { c.LogBytes, c.LogKeep = 2000, 3 })
	a := r.start(t, "print", 1, 1)
	print := func(from, to int) {
		for i := from; i < to; i++ {
			fmt.Fprintf(a.conn, "line %04d %s\n", i, strings.Repeat("x", 50))
			a.expect(t, "printed")
		}
	}
	print(0, 10)
	until(t, "ten lines in the log", func() bool {
		text, _ := os.ReadFile(filepath.Join(r.dir, "logs", "demo", "r1.log"))
		return bytes.HasSuffix(text, []byte("x\n")) && bytes.Contains(text, []byte("line 0009 "))
	})
	r.stream.askLog(t, 5, 3, true)
	var got strings.Builder
	read := func(until string) {
		for !strings.Contains(got.String(), until) {
			got.Write(r.stream.logData(t, 5).GetData())
		}
	}
	read("line 0009")
	if strings.Contains(got.String(), "line 0006") || !strings.Contains(got.String(), "line 0007") {
		t.Errorf("want the last three lines, got %q", got.String())
	}
	for i := 10; i < 200; i += 10 { // each turn is about a third of a file
		print(i, i+10)
		read(fmt.Sprintf("line %04d", i+9))
	}
	for i := 7; i < 200; i++ {
		if n := strings.Count(got.String(), fmt.Sprintf("line %04d ", i)); n != 1 {
			t.Errorf("line %d came %d times", i, n)
		}
	}
	// Canceled: nothing more but the end.
	r.stream.send(t,
		&vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_LogCancel{LogCancel: &vigilv1.LogCancel{Request: 5}}})
	if d := r.stream.logData(t, 5); !d.GetEnd() || d.GetError() != "" {
		t.Errorf("after the cancel: %v", d)
	}
	r.stream.askLog(t, 6, 100, false)
	got.Reset()
	for {
		d := r.stream.logData(t, 6)
		got.Write(d.GetData())
		if d.GetEnd() {
			break
		}
	}
	if n := strings.Count(got.String(), "\n"); n != 100 || !strings.HasPrefix(got.String(), "line 0100 ") {
		t.Errorf("%d lines from %q", n, got.String()[:20])
	}
}

func TestLogOfAnUnknownAgent(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.stream.askLog(t, 1, 3, false)
	if d := r.stream.logData(t, 1); !d.GetEnd() || !strings.Contains(d.GetError(), "no output") {
		t.Errorf("answer %v", d)
	}
}
