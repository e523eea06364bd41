package door

import (
	"testing"

	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// What the count of an identity's share costs a call: a batch of beats, and a short request.
func BenchmarkShares(b *testing.B) {
	beats := &vigilv1.BeatRequest{Host: 1, Boot: "boot"}
	for i := range 100 {
		beats.Agents, beats.Incarnations = append(beats.Agents, uint32(i)), append(beats.Incarnations, uint64(i)<<32)
	}
	for name, req := range map[string]any{"beats of 100": beats, "short": &vigilv1.GetTaskRequest{Task: 7}} {
		b.Run(name, func(b *testing.B) {
			q := newQuotas()
			p := callerNamed(who.Host, "h1", "")
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					done, err := q.take(b.Context(), p, req)
					if err != nil {
						q.mu.Lock()
						q.of[sharer{kind: who.Host, name: "h1"}].tokens = shares[who.Host].burst
						q.mu.Unlock()
						continue
					}
					done()
				}
			})
		})
	}
}
