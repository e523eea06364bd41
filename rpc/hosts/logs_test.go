package hosts

import (
	"testing"

	"vigil/rpc/gen/vigilv1"
)

func TestSlowLogReaderDoesNotHoldTheStream(t *testing.T) {
	s := &stream{logs: map[uint64]*logRequest{}, out: make(chan *vigilv1.ServerMessage, 4),
		gone: make(chan struct{})}
	r, err := s.request(t.Context(), func(uint64) *vigilv1.ServerMessage { return &vigilv1.ServerMessage{} })
	if err != nil {
		t.Fatal(err)
	}
	for range 200 { // far more than the buffer holds; nobody reads
		s.logData(&vigilv1.LogData{Request: r.id, Data: make([]byte, 64<<10)})
	}
	if !r.full || r.queued > logBuffer {
		t.Fatalf("full=%v with %d bytes queued, want the reader cut off within %d", r.full, r.queued, logBuffer)
	}
}
