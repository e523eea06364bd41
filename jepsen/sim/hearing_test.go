package sim

import (
	"context"
	"slices"
	"time"

	"vigil/cluster"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// hear has a server report what it hears on its order streams whenever that is not
// what the state says of it. It ends with the stint of the process.
func (w *world) hear(ctx context.Context, i int, st *stay) {
	id := w.servers[i].cfg.ID
	for nap(ctx, time.Second) {
		if w.wire.isFrozen(i) {
			continue
		}
		w.calls(i, st)
		w.announce(ctx, i, st)
		var views []noun.HostView
		st.rep.Read(func(s *fsm.View) {
			for h := range s.Hosts() {
				heard := noun.HostView{Server: id, Host: h.ID, Stream: st.board.hears(h.ID, s.SinceBeat(h)),
					Gossip: w.gossip(i, h)}
				if was := said(h, id); heard.Stream != was.Stream || heard.Gossip != was.Gossip {
					views = append(views, heard)
				}
			}
		})
		lead := w.leader(i)
		if len(views) == 0 || lead == nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, attemptLimit)
		// what is lost is said again
		_, _ = lead.rep.Submit(bounded, fsm.Request{Cmd: fsm.ReportViews{Server: id, Views: views}})
		cancel()
	}
}

// said is what the state holds of a server's word about a host.
func said(h *noun.Host, server string) noun.HostView {
	for _, v := range h.Views {
		if v.Server == server {
			return v
		}
	}
	return noun.HostView{}
}

// gossip is what a server hears of a host in gossip, in runs about detection; in others
// hosts do not gossip.
func (w *world) gossip(i int, h *noun.Host) noun.Hearing {
	if w.cfg.cast == nil {
		return noun.HearNothing
	}
	for _, x := range w.hosts {
		if x.key == h.Key {
			return w.cfg.cast.gossip(i, x)
		}
	}
	return noun.HearNothing
}

// unheard are the servers that one cannot reach.
func (w *world) unheard(i int) map[string]bool {
	out := map[string]bool{}
	for j, s := range w.servers {
		if j != i && (s.now.Load() == nil || !w.wire.open(i, j)) {
			out[s.cfg.ID] = true
		}
	}
	return out
}

// announce has a server say what it is, unless the state knows it.
func (w *world) announce(ctx context.Context, i int, st *stay) {
	cfg := &w.servers[i].cfg
	self := noun.Server{ID: cfg.ID, APIAddr: cfg.APIAddr, RaftAddr: cfg.RaftAddr, Version: cfg.Version,
		Features: cfg.Features}
	known, lead := false, w.leader(i)
	st.rep.Read(func(s *fsm.View) { known = slices.Contains(s.Servers(), self) })
	if known || lead == nil ||
		!slices.ContainsFunc(st.rep.Servers(), func(s cluster.Server) bool { return s.ID == cfg.ID }) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	_, _ = lead.rep.Submit(bounded, fsm.Request{Cmd: fsm.PutServer(self)}) // what is lost is said again
}
