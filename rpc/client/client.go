package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link"
)

// Client speaks to a cluster; see the package comment. It may be used by any
// number of goroutines, and one for a whole process is enough.
type Client struct {
	cfg      Config
	servers  *servers
	sessions *sessions
	trouble  atomic.Pointer[Error] // why the newest attempt failed; nil: it did not

	life   context.Context // ends with Close
	cancel context.CancelCauseFunc
	done   <-chan struct{}
	once   sync.Once
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// Open makes a client. It checks cfg and does not touch the network; the first
// call does. The caller closes the client.
func Open(cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	options := append([]grpc.DialOption{
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: shakeLimit}),
	}, cfg.Options...)
	if cfg.Bearer != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(cfg.Bearer)))
	}
	c := &Client{cfg: cfg}
	if cfg.local() {
		c.cfg.TLS = nil // the socket's rights say who may use it
		options = append(options, grpc.WithAuthority("localhost"))
	}
	c.servers = newServers(&c.cfg, options)
	c.life, c.cancel = context.WithCancelCause(context.Background())
	c.done = c.life.Done()
	c.sessions = &sessions{open: c.openSession}
	return c, nil
}

// Anew opens another client to the servers that this one knows. Its connections show the certificate of
// now, where those of this one may show one that was renewed since. Whoever calls it closes it.
func (c *Client) Anew() (*Client, error) {
	cfg := c.cfg
	cfg.Addrs = c.Servers()
	return Open(cfg)
}

// closeLimit is how long Close tries to end the sessions; those that it does not
// end lapse by themselves.
const closeLimit = 250 * time.Millisecond

// Close ends the client: calls under way fail with ErrClosed or ErrUnavailable,
// and nothing of the client is alive afterwards. It takes at most a few hundred
// milliseconds. It always returns nil.
func (c *Client) Close() error {
	c.once.Do(func() {
		if k := c.servers.lead.cur.Load(); k != nil && k.Usable() {
			c.closeSessions(k)
		}
		c.cancel(ErrClosed)
		c.servers.close()
		c.sessions.openers.Wait()
	})
	return nil
}

// closeSessions says good-bye once for each idle session, as far as that is quick.
func (c *Client) closeSessions(k *link.Conn) {
	ctx, cancel := context.WithTimeout(c.life, closeLimit)
	defer cancel()
	var all sync.WaitGroup
	for _, id := range c.sessions.idle(window) {
		all.Go(func() {
			// The session lapses anyway, so an error changes nothing.
			_, _ = vigilv1.NewWorkClient(k).CloseSession(ctx, &vigilv1.CloseSessionRequest{Session: id})
		})
	}
	all.Wait()
}

// Addr is the API address that the next write would go to: the leader's, as far
// as the client knows, unless that has stopped answering.
func (c *Client) Addr() string {
	if k := c.servers.lead.cur.Load(); k != nil && k.Usable() {
		return k.Addr
	}
	if order := c.servers.order(&c.servers.lead); len(order) > 0 {
		return order[0]
	}
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	return c.servers.lead.target
}

// Servers are the addresses that the client knows: those that the cluster has named last,
// the configured among them first, and then the other configured ones, which are never
// forgotten. Without an answer yet: the configured ones and those of Config.File.
func (c *Client) Servers() []string {
	c.servers.mu.Lock()
	defer c.servers.mu.Unlock()
	return slices.Clone(c.servers.addrs)
}

// Reached tells whether a server was ever connected to.
func (c *Client) Reached() bool { return c.servers.reached.Load() }

// Invoke sends a unary call. Generated stubs call it; see the package comment for
// what it does. Its errors are *Error.
func (c *Client) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	nature := code.NatureOf(method)
	switch {
	case nature.Repeatable() && isBatch(args):
		return c.batch(ctx, method, args.(*vigilv1.BatchRequest), reply.(*vigilv1.BatchResponse), opts)
	case nature.Repeatable() && wantsID(args):
		return c.write(ctx, method, args, reply, opts)
	default:
		return c.repeat(ctx, c.trial(method, nature), args, reply, opts)
	}
}

func (c *Client) trial(method string, nature code.Nature) *trial {
	return &trial{method: method, nature: nature, began: time.Now(), until: c.cfg.RetryFor}
}

// renewals is how often one write may find its session forgotten.
const renewals = 3

// write numbers the request and repeats it under that number. When the cluster has no
// session to spare it goes without one, and is repeated only after proof that nothing was
// done.
func (c *Client) write(ctx context.Context, method string, args, reply any, opts []grpc.CallOption) error {
	t := c.trial(method, code.Write)
	for n := 0; ; n++ {
		var ids [1]ticket
		switch err := c.take(ctx, t, ids[:]); {
		case errors.Is(err, ErrFull): // commands that free memory must get through
			return c.repeat(ctx, c.trial(method, code.Unnumbered), args, reply, opts)
		case err != nil:
			return err
		}
		err := c.repeat(ctx, t, withID(args, ids[0]), reply, opts)
		if errors.Is(err, ErrUnknownSession) {
			c.sessions.drop(ids[0].s)
		}
		c.sessions.put(c.life, ids[:])
		// Within the limit no attempt can have been carried out in a session that has
		// ended since, so a new number is safe. After it an earlier one may have been.
		switch late := elapsed(t.began) >= t.until; {
		case !errors.Is(err, ErrUnknownSession):
			return err
		case late && t.last != nil:
			return c.endedBy(context.DeadlineExceeded, t)
		case late, n == renewals:
			return err
		}
		t.maybe = false
	}
}

// take gets numbers for a write.
func (c *Client) take(ctx context.Context, t *trial, dst []ticket) error {
	err := c.sessions.take(ctx, c.life, dst)
	switch e := From(err); {
	case err == nil:
		return nil
	case e != nil:
		return t.perhaps(e) // of the others of a batch
	}
	return c.endedBy(err, t)
}

// openSession opens a session; sessions calls it.
func (c *Client) openSession(ctx context.Context) (uint64, error) {
	var answer vigilv1.OpenSessionResponse
	t := c.trial(vigilv1.Work_OpenSession_FullMethodName, code.Idempotent)
	err := c.repeat(ctx, t, &vigilv1.OpenSessionRequest{Client: c.cfg.Name}, &answer, nil)
	return answer.GetSession(), err
}
