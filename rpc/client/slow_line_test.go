package client_test

import (
	"context"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// L10 on a line whose queues are full: what answers late is no server that has stopped answering. So beats go on over
// the connection that there is, and one can be made.
func TestSlowLineIsNotSilence(t *testing.T) {
	for _, way := range []time.Duration{20 * time.Millisecond, 350 * time.Millisecond, 700 * time.Millisecond,
		1500 * time.Millisecond} {
		t.Run(way.String(), func(t *testing.T) {
			story(t, func(t *testing.T, f *fakeCluster, c *client.Client) {
				f.mu.Lock()
				f.way = way
				f.mu.Unlock()
				work := vigilv1.NewWorkClient(c)
				beat := &vigilv1.BeatRequest{Agents: []uint32{1}, Incarnations: []uint64{1}, Kinds: []uint32{1}}
				lost := 0
				for i := range 120 { // ten minutes
					ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
					if _, err := work.Beat(ctx, beat); err != nil {
						if lost++; i > 1 {
							t.Errorf("beat %d: %v", i, err)
						}
					}
					cancel()
					time.Sleep(5 * time.Second)
				}
				f.mu.Lock()
				dials := f.dials
				f.mu.Unlock()
				// Each server once, and again each second until it has accepted.
				if lost > 2 || dials > 3*(1+int(2*way/time.Second)) {
					t.Errorf("%d beats were lost, %d connections dialled", lost, dials)
				}
			})
		})
	}
}
