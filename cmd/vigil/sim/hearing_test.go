package sim

import (
	"context"
	"time"

	"vigil/cluster"
	"vigil/fsm"
)

// hear has a server report what it hears on its order streams whenever that is not
// what the state says of it. It ends with the stint of the process.
func (w *world) hear(ctx context.Context, i int, rep *cluster.Replica) {
	select {
	case <-w.built:
	case <-ctx.Done():
	}
	for nap(ctx, time.Second) {
		var views []fsm.HostView
		rep.Read(func(st *fsm.State) {
			for h := range st.Hosts() {
				heard := w.switchboard[i].hears(h.ID, st.SinceBeat(h))
				if heard != said(h, w.c.ID(i)) {
					views = append(views, fsm.HostView{Host: h.ID, Stream: heard})
				}
			}
		})
		lead := w.leader(i)
		if len(views) == 0 || lead == nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, attemptLimit)
		_, _ = lead.Submit(bounded, fsm.Request{Cmd: fsm.ReportViews{Server: w.c.ID(i), Views: views}}) // what is lost is said again
		cancel()
	}
}

// said is what the state holds of a server's word about a host.
func said(h *fsm.Host, server string) fsm.Hearing {
	for _, v := range h.Views {
		if v.Server == server {
			return v.Stream
		}
	}
	return fsm.HearNothing
}

// unheard are the servers that one cannot reach.
func (w *world) unheard(i int) map[string]bool {
	out := map[string]bool{}
	select {
	case <-w.built:
	default: // the cluster is not yet known to the world
		return out
	}
	for j := range servers {
		if j != i && (w.c.Replica(j) == nil || !w.links.forward(i, j)) {
			out[w.c.ID(j)] = true
		}
	}
	return out
}
