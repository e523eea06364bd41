package wire

import (
	"testing"

	"github.com/hashicorp/raft"

	"vigil/cluster/wire/wiretest"
)

// BenchmarkAppendEntries is the way of one request and its answer between two servers, without a disk.
func BenchmarkAppendEntries(b *testing.B) {
	ca := wiretest.New(b, "blue")
	for name, identity := range map[string]func(id string) Identity{
		"plain":  func(string) Identity { return nil },
		"secure": func(id string) Identity { return ca.Server(id, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			from := listen(b, "a", func(c *Config) { c.Identity = identity("a") })
			to := listen(b, "b", func(c *Config) { c.Identity = identity("b") })
			go func() {
				for {
					select {
					case <-to.Ended():
						return
					case rpc := <-to.Consumer():
						rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
					}
				}
			}()
			req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte("a"), Addr: []byte(from.addr)}, Term: 3,
				PrevLogEntry: 1, PrevLogTerm: 2, Entries: []*raft.Log{{Index: 2, Term: 3, Data: make([]byte, 512)}}}
			for b.Loop() {
				var resp raft.AppendEntriesResponse
				if err := from.AppendEntries("b", raft.ServerAddress(to.addr), req, &resp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
