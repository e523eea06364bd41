package door

import (
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/rpc/code"
)

// signpost is the header of every answer: it tells clients where the servers are, so that
// they find the cluster when all those that they were told of are gone. HTTP/2 sends a
// header that repeats as one byte. Safe for concurrent use.
type signpost struct {
	servers atomic.Pointer[string] // API addresses, sorted, separated by commas
	last    atomic.Pointer[signs]
}

// signs is a header and what it was made from.
type signs struct {
	leader  string
	servers *string
	header  metadata.MD
}

// look notes the servers that have told where their API is.
func (p *signpost) look(r Reader) {
	var addrs []string
	r.Read(func(st *fsm.View) {
		for _, s := range st.Servers() {
			if s.APIAddr != "" {
				addrs = append(addrs, s.APIAddr)
			}
		}
	})
	slices.Sort(addrs)
	list := strings.Join(slices.Compact(addrs), ",")
	if was := p.servers.Load(); was == nil || *was != list {
		p.servers.Store(&list)
	}
}

// header gives what to send while that server leads; empty: nobody, or this one. The usual
// case is a comparison.
func (p *signpost) header(leader string) metadata.MD {
	servers := p.servers.Load()
	if last := p.last.Load(); last != nil && last.leader == leader && last.servers == servers {
		return last.header
	}
	next := &signs{leader: leader, servers: servers, header: metadata.MD{}}
	if leader != "" {
		next.header.Set(code.HeaderLeader, leader)
	}
	if servers != nil && *servers != "" {
		next.header.Set(code.HeaderServers, *servers)
	}
	p.last.Store(next)
	return next.header
}
