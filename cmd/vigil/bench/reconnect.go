package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

const (
	// reconnectLimit is how long all sessions may take to come, and to come back.
	reconnectLimit = 5 * time.Minute
	// reconnectSpare is how many files a server needs beside its connections.
	reconnectSpare = 1000
)

// reconnectSources are the addresses from which hosts connect, each with a process of its own: one
// address has some 28,000 ports for one server, and one process so many files.
var reconnectSources = []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}

func reconnectSpec() *Spec {
	return &Spec{
		Name: "reconnect", Short: "Cut all connections of hosts at once, and see how soon all are back",
		Long: `Founds a cluster with identities, in which --clients hosts have --count connections, a part of
them at each server. Cuts all of them at once. Measured is the time from the cut until a
connection is there again, after a whole handshake in which both ends have proved who they
are, and the host has beaten over it. All the time --rate tasks a second are created. Hosts
connect from four addresses; they stand for other machines, so their processes leave the
processors to the servers first (nice 10). elections counts leaders that were elected: none is needed.`,
		Uses: []string{"count", "clients", "rate"}, CountHelp: "connections",
		Defaults: Options{Count: 30_000, Clients: []int{1000}, Rate: 20, Conns: 1},
		Own:      true, Secure: true, run: runReconnect,
	}
}

func runReconnect(ctx context.Context, r *run) error {
	if most := openFiles(); most > 0 && r.Count/len(r.stand.servers)+reconnectSpare > most {
		return fmt.Errorf("%w: a server has %d connections then and may open %d files: raise that (ulimit -n), or give "+
			"a smaller --count", ErrOptions, r.Count/len(r.stand.servers), most)
	}
	clients, err := r.stand.dial(1, false)
	if err != nil {
		return err
	}
	c := clients[0]
	hosts, err := r.enroll(ctx, c, r.Clients[len(r.Clients)-1])
	if err != nil {
		return err
	}
	h := herd{roles: 1, replicas: 1}
	if err := r.declare(ctx, c, h); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*reconnectLimit)
	defer cancel()
	x := &storm{run: r, herd: h, client: c}
	defer x.end()
	if err := x.connect(ctx, hosts); err != nil {
		return err
	}
	return x.cut(ctx)
}

// enroll gives n hosts an identity and registers them.
func (r *run) enroll(ctx context.Context, c *client.Client, n int) ([]sessionHost, error) {
	const uses = 100 // of one token
	hosts := make([]sessionHost, n)
	var mu sync.Mutex
	entered := 0
	err := each(ctx, (n+uses-1)/uses, 4, func(ctx context.Context, t int) error {
		token, err := vigilv1.NewTrustClient(c).CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: string(trust.Host),
			Uses: uses, Ttl: durationpb.New(time.Hour)})
		if err != nil {
			return fmt.Errorf("make a token: %w", err)
		}
		for i := t * uses; i < min((t+1)*uses, n); i++ {
			if hosts[i], err = enrollHost(ctx, c, token, r.tag+"-"+strconv.Itoa(i)); err != nil {
				return err
			}
			mu.Lock()
			entered++
			r.say("hosts join: %d of %d", entered, n)
			mu.Unlock()
		}
		return nil
	})
	return hosts, err
}

// enrollHost has a host join by a token, and registers it.
func enrollHost(
	ctx context.Context, c *client.Client, token *vigilv1.CreateTokenResponse, name string,
) (h sessionHost, err error) {
	key, err := trust.NewKey()
	if err != nil {
		return h, err
	}
	csr, err := trust.Request(key)
	if err != nil {
		return h, err
	}
	cert, err := vigilv1.NewTrustClient(c).Join(ctx, &vigilv1.JoinTrustRequest{Token: token.GetToken(),
		Secret: token.GetSecret(), Csr: csr, Kind: string(trust.Host), Name: name})
	if err != nil {
		return h, fmt.Errorf("join as a host: %w", err)
	}
	h.Boot, h.Chain = "b1", cert.GetChain()
	if h.Key, err = x509.MarshalECPrivateKey(key); err != nil {
		return h, err
	}
	me, err := h.holder()
	if err != nil {
		return h, err
	}
	own, err := client.Open(client.Config{Addrs: c.Servers(), Name: name, TLS: me.Client(nil)})
	if err != nil {
		return h, err
	}
	defer own.Close()
	answer, err := vigilv1.NewHostAgentClient(own).Register(ctx,
		&vigilv1.RegisterRequest{Key: name, Name: name, Boot: h.Boot})
	if err != nil {
		return h, fmt.Errorf("register host: %w", err)
	}
	h.Host = answer.GetHost()
	return h, nil
}

// storm is the benchmark under way: one process for each source address.
type storm struct {
	*run
	herd   herd
	client *client.Client
	loads  []*sessionLoad
}

// connect opens all connections.
func (x *storm) connect(ctx context.Context, hosts []sessionHost) error {
	for i, source := range reconnectSources {
		n := (x.Count + i) / len(reconnectSources)
		l, err := startSessions(x.Program, sessionJob{Source: source, Servers: x.stand.addrs(), Hosts: hosts, Count: n,
			Limit: reconnectLimit})
		if err != nil {
			return fmt.Errorf("start the hosts at %s: %w", source, err)
		}
		x.loads = append(x.loads, l)
	}
	x.say("connecting %d times", x.Count)
	began := time.Now()
	var first tally
	if err := x.gather(&first); err != nil {
		return err
	}
	x.report.set("hosts", len(hosts))
	x.report.set("sources", len(x.loads))
	x.report.set("first_seconds", time.Since(began).Seconds())
	return ctx.Err()
}

// gather waits until all connections are there and joins how long they have taken.
func (x *storm) gather(t *tally) error {
	var errs []error
	retries := int64(0)
	for _, l := range x.loads {
		word, err := l.hear()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.ops += int64(len(word.Took))
		for _, took := range word.Took {
			t.add(took)
		}
		t.errors += int64(word.Missing)
		if word.First != "" && t.first == nil {
			t.first = errors.New(word.First)
		}
		retries += int64(word.Retries)
	}
	x.report.set("retries", retries)
	return errors.Join(errs...)
}

// cut cuts all connections and measures their return, beside writes.
func (x *storm) cut(ctx context.Context) error {
	pause(ctx, calm)
	before, err := vigilv1.NewClusterClient(x.client).Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return fmt.Errorf("ask status: %w", err)
	}
	writing, enough := context.WithCancel(ctx)
	defer enough()
	writes := &tally{}
	var done sync.WaitGroup
	done.Go(func() { x.write(writing, writes) })
	x.say("cutting %d connections", x.Count)
	began := time.Now()
	for _, l := range x.loads {
		l.cut()
	}
	var back tally
	err = x.gather(&back)
	back.seconds = time.Since(began).Seconds()
	enough()
	done.Wait()
	if err != nil {
		return err
	}
	for _, sv := range x.stand.servers {
		if e := sv.proc.ended(); e != nil {
			return fmt.Errorf("server %s ended: %w", sv.id, e)
		}
	}
	after, err := vigilv1.NewClusterClient(x.client).Status(ctx, &vigilv1.StatusRequest{})
	if err != nil {
		return fmt.Errorf("ask status: %w", err)
	}
	x.report.take(&back)
	x.report.set("elections", int(after.GetTerm()-before.GetTerm()))
	x.report.set("writes", writes.ops)
	x.report.set("writes_failed", writes.errors)
	x.report.set("write_p50_ms", writes.percentile(0.5))
	x.report.set("write_p99_ms", writes.percentile(0.99))
	x.report.set("write_max_ms", writes.max())
	x.report.fail(0, writes.first)
	return nil
}

// write creates tasks until ctx ends; those under way then are not counted.
func (x *storm) write(ctx context.Context, t *tally) {
	room, role := x.herd.role(x.tag, 0)
	var mu sync.Mutex
	paced(ctx, x.Rate, 2*reconnectLimit, func(i int) {
		at := time.Now()
		_, err := vigilv1.NewFleetClient(x.client).CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: room, Role: role,
			Title: "task " + strconv.Itoa(i)})
		took := time.Since(at)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			t.ops++
			t.add(took)
		case ctx.Err() == nil:
			t.fail(err)
		}
	})
}

func (x *storm) end() {
	for _, l := range x.loads {
		l.end()
	}
}

// holder is who a host is.
func (h *sessionHost) holder() (*trust.Holder, error) {
	var chain []*x509.Certificate
	for _, der := range h.Chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, errors.New("a host without a certificate")
	}
	roots, err := trust.NewRoots(chain[len(chain)-1])
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(h.Key)
	if err != nil {
		return nil, err
	}
	me := trust.NewHolder(roots)
	return me, me.Set(chain, key)
}

// config is what connections of a host show.
func (h *sessionHost) config() (*tls.Config, error) {
	me, err := h.holder()
	if err != nil {
		return nil, err
	}
	return me.Client(nil), nil
}
