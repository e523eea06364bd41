package local

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Reception serves what agents send to agentd itself, by ports that their shims keep (OpenPort). It has a
// socket of its own, so that nothing that comes by such a port ever reaches the servers. Run it once.
type Reception struct {
	Listener *net.UnixListener // only for shims; Run closes it
	Who      Who
	Handler  http.Handler
}

type lifeKey struct{}

// LifeOf gives the life whose shim has passed on a request to a Reception; zero: it was none.
func LifeOf(r *http.Request) Life {
	life, _ := r.Context().Value(lifeKey{}).(Life)
	return life
}

// Run serves until ctx ends. When it returns, nothing of it is alive.
func (r *Reception) Run(ctx context.Context) {
	conns := newHanded()
	var served open
	server := &http.Server{Handler: r.Handler, MaxHeaderBytes: maxHeaders, ReadTimeout: arriveLimit,
		WriteTimeout: arriveLimit, IdleTimeout: idleLimit, ErrorLog: silent(), ConnState: served.note,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, lifeKey{}, c.(spoken).life)
		}}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(conns) }) // it ends with Close
	work.Go(func() { accept(ctx, r.Listener, r.Who, conns, &work) })
	<-ctx.Done()
	r.Listener.Close()
	conns.Close()
	_ = server.Close() // the senders repeat what was not answered
	work.Wait()
	served.Wait()
}
