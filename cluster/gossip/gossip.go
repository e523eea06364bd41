package gossip

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/memberlist"
)

// Kind is what a member is.
type Kind string

// Kinds.
const (
	Server Kind = "server"
	Host   Kind = "host"
)

// Rhythm of gossip.
const (
	rejoinEvery = 5 * time.Second // addresses that are not heard are joined so often
	rejoinMost  = 16              // of them at once
	rejoinLost  = 4               // of those that are believed to be away, beside them
	confirmFor  = 5 * time.Second // a member that was not reached by UDP until then is silent
	confirmLook = 250 * time.Millisecond
	// A host of which others say that it has gone is pinged, and counts as before for ownLimit, and for
	// ownKeep from each answer; then it is asked again after ownEvery.
	ownLimit    = 400 * time.Millisecond
	ownKeep     = 1500 * time.Millisecond
	ownEvery    = 500 * time.Millisecond
	streamLimit = 5 * time.Second // for an exchange over TCP
	goodbye     = time.Second     // for each word of a good-bye
	forgetAfter = time.Hour       // a member that is not there
)

// Config of a Gossip.
type Config struct {
	Kind Kind
	ID   string // of the server, or the host's key
	Boot string // of the host; may be empty
	// Bind is listened on, host:port, by UDP and TCP; port 0: any.
	Bind string
	// Advertise is where others reach Bind; empty: where it listens. Required when
	// Bind is every interface. Port 0: the one of Bind.
	Advertise string
	// Key encrypts everything, see ReadKey; nil: nothing is encrypted.
	Key []byte
	// Keyed says that keys come by SetKeys instead: nothing is said and nobody is heard before.
	Keyed  bool
	Logger hclog.Logger // nil: silent

	// Tests give a network of their own.
	transport memberlist.NodeAwareTransport
}

// Gossip is one member. Its methods may be called by any goroutine; Run once.
type Gossip struct {
	cfg   Config
	log   hclog.Logger
	name  string
	ip    string
	port  int
	trans memberlist.NodeAwareTransport
	table *table
	ring  *memberlist.Keyring // its keys change under mu
	wake  chan struct{}       // one fits

	end    context.Context // of calls over TCP
	cancel context.CancelFunc
	once   sync.Once // closes the transport

	mu      sync.Mutex
	cluster string
	likely  rejoins // members that are believed to be there
	lost    rejoins // and those that are not
	leaving bool
	list    *memberlist.Memberlist // nil: Run has not begun to gossip
}

// Open listens. Nothing is said before Run, and Run says nothing before Know has
// told it the cluster.
func Open(cfg Config) (*Gossip, error) {
	if cfg.ID == "" || cfg.Kind == "" {
		return nil, errors.New("open gossip: the member has no kind or id")
	}
	if cfg.Key != nil {
		if err := memberlist.ValidateKey(cfg.Key); err != nil {
			return nil, fmt.Errorf("open gossip: %w", err)
		}
	}
	if cfg.Keyed && cfg.Key != nil {
		return nil, errors.New("open gossip: keys come by themselves, and one is given")
	}
	ring, err := memberlist.NewKeyring(nil, cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("open gossip: %w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	g := &Gossip{ring: ring, cfg: cfg, log: cfg.Logger.Named("gossip"), table: newTable(cfg.Kind == Server),
		wake:   make(chan struct{}, 1),
		likely: rejoins{joining: map[string]bool{}}, lost: rejoins{joining: map[string]bool{}}}
	k := keyOf(cfg.Kind, cfg.ID, cfg.Boot)
	g.name = nameOf(k.kind, k.id, k.boot, rand.Uint64())
	g.end, g.cancel = context.WithCancel(context.Background())
	if g.trans = cfg.transport; g.trans == nil {
		if g.trans, err = listen(g.end, cfg.Bind, log.New(&lines{log: g.log}, "", 0)); err != nil {
			return nil, fmt.Errorf("open gossip: %w", err)
		}
	}
	if g.ip, g.port, err = advertised(g.trans, cfg.Advertise); err != nil {
		g.Close()
		return nil, fmt.Errorf("open gossip: %w", err)
	}
	return g, nil
}

// Addr is where other members reach this one.
func (g *Gossip) Addr() string { return joinAddr(g.ip, g.port) }

// Close stops listening when Run was never called. It may be called more than once.
func (g *Gossip) Close() {
	g.cancel()
	g.once.Do(func() {
		closed := make(chan struct{})
		var drained sync.WaitGroup
		drained.Go(func() { drain(g.trans, closed) })
		_ = g.trans.Shutdown() // it has nothing to say
		close(closed)
		drained.Wait()
	})
}

// Know says which cluster this member belongs to and where other members, at least
// some servers, are; it may be repeated with newer addresses, and with another cluster once
// somebody has recovered it. Those that are lost are looked for too, but however many they are,
// they never keep others waiting.
func (g *Gossip) Know(cluster string, addrs, lost []string) {
	addrs = g.others(addrs, nil)
	lost = g.others(lost, addrs)
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := g.likely.know(addrs)
	changed = g.lost.know(lost) || changed
	if cluster != "" && g.cluster != cluster {
		g.cluster, changed = cluster, true
	}
	if changed {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}

// others sorts addresses; its own and those that are listed elsewhere are left out.
func (g *Gossip) others(addrs, elsewhere []string) []string {
	addrs = slices.DeleteFunc(slices.Clone(addrs), func(a string) bool {
		_, listed := slices.BinarySearch(elsewhere, a)
		return a == "" || a == g.Addr() || listed
	})
	slices.Sort(addrs)
	return slices.Compact(addrs)
}

// Leave has Run say good-bye when it ends. Without it, others will find that this
// member has failed.
func (g *Gossip) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaving = true
}

// Hears tells how a member is heard; servers only. Boot must be the member's own.
func (g *Gossip) Hears(kind Kind, id, boot string) State {
	return g.table.state(kind, id, boot, time.Now())
}

// Run gossips until ctx ends. It returns an error only when it cannot begin.
func (g *Gossip) Run(ctx context.Context) error {
	defer g.Close()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer g.cancel() // ends exchanges under way
	for {
		label := g.awaitCluster(ctx)
		if ctx.Err() != nil {
			return nil
		}
		list, err := memberlist.Create(g.config(label))
		if err != nil {
			return fmt.Errorf("start gossip: %w", err)
		}
		g.mu.Lock()
		g.list = list
		g.mu.Unlock()
		g.log.Info("gossip starts", "address", g.Addr(), "encrypted", len(g.ring.GetKeys()) > 0)
		g.work(ctx, list, label, &tasks)
		if ctx.Err() != nil {
			g.farewell(list, &tasks)
		}
		_ = list.Shutdown() // the sockets stay, see kept
		if ctx.Err() != nil {
			return nil
		}
	}
}

// awaitCluster gives the cluster's id, once there is a key if there is to be one, or when ctx ends. What
// arrives before is dropped.
func (g *Gossip) awaitCluster(ctx context.Context) string {
	for {
		g.mu.Lock()
		cluster := g.cluster
		g.mu.Unlock()
		if cluster != "" && g.keyed() || ctx.Err() != nil {
			return cluster
		}
		select {
		case <-ctx.Done():
		case <-g.wake:
		case <-g.trans.PacketCh():
		case conn := <-g.trans.StreamCh():
			_ = conn.Close() // it has nothing to say
		}
	}
}

func (g *Gossip) config(label string) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.Name, c.Label, c.Keyring = g.name, label, g.ring
	c.Transport, c.AdvertiseAddr, c.AdvertisePort, c.BindPort = kept{g.trans}, g.ip, g.port, g.port
	c.TCPTimeout = streamLimit
	c.DisableTcpPings = true // see the package comment
	c.Logger = log.New(&lines{log: g.log}, "", 0)
	c.Delegate, c.Events, c.Alive = delegate{g}, g.table, g.table
	return c
}

// work does what is due until ctx ends, or the cluster has another id.
func (g *Gossip) work(ctx context.Context, list *memberlist.Memberlist, label string, tasks *sync.WaitGroup) {
	look := time.NewTicker(confirmLook)
	defer look.Stop()
	var joined time.Time
	for {
		now := time.Now()
		if now.Sub(joined) >= rejoinEvery {
			joined = now
			g.rejoin(list, tasks)
		}
		for _, p := range g.table.unconfirmed(now) {
			tasks.Go(func() {
				_, err := list.Ping(p.name, p.addr)
				g.table.pinged(p.name, err == nil, time.Now())
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-g.wake:
			joined = time.Time{}
			g.mu.Lock()
			moved := g.cluster != label
			g.mu.Unlock()
			if moved {
				return
			}
		case <-g.table.doubted:
		case <-look.C:
		}
	}
}

// farewell tells the others that this member leaves on purpose, when it does.
func (g *Gossip) farewell(list *memberlist.Memberlist, tasks *sync.WaitGroup) {
	g.mu.Lock()
	leaving, addrs := g.leaving, slices.Clone(g.likely.addrs)
	g.mu.Unlock()
	if !leaving {
		return
	}
	err := list.UpdateNode(goodbye) // says it in the member's data
	// Gossip alone misses some server now and then: each gets the data over TCP too.
	told := make(chan struct{}, len(addrs))
	for _, addr := range addrs {
		tasks.Go(func() {
			_, _ = list.Join([]string{addr}) // who is away need not know
			told <- struct{}{}
		})
	}
	late := time.After(goodbye)
	for range addrs {
		select {
		case <-told:
			continue
		case <-late:
		}
		break
	}
	if err = errors.Join(err, list.Leave(goodbye)); err != nil {
		g.log.Debug("good-bye was not gossiped", "error", err)
	}
}

// delegate gives the member's data.
type delegate struct{ g *Gossip }

// left is the data of a member that is about to leave.
const left = "left"

// NodeMeta implements memberlist.Delegate.
func (d delegate) NodeMeta(int) []byte {
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	if d.g.leaving {
		return []byte(left)
	}
	return nil
}

// NotifyMsg implements memberlist.Delegate.
func (delegate) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate.
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate.
func (delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate.
func (delegate) MergeRemoteState([]byte, bool) {}

// keyOf finds a member. What hosts identify themselves with to the cluster is a secret, and names of members
// are not: they stand in messages and logs.
func keyOf(kind Kind, id, boot string) memberKey {
	if kind == Host {
		id, boot = veiled(id), veiled(id+"\x00"+boot)
	}
	return memberKey{kind, id, boot}
}

func veiled(text string) string {
	sum := sha256.Sum256([]byte("vigil host\x00" + text))
	return hex.EncodeToString(sum[:8])
}

// nameOf makes the name of one run of a member. The number tells runs apart and says
// nothing else: a time would be compared with that of a run under another clock.
func nameOf(kind Kind, id, boot string, run uint64) string {
	return strings.Join([]string{string(kind), url.PathEscape(id), url.PathEscape(boot),
		fmt.Sprintf("%016x", run)}, "/")
}

// parseName reads what nameOf has made.
func parseName(name string) (key memberKey, err error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return key, fmt.Errorf("gossip: %q is no member's name", name)
	}
	key.kind = Kind(parts[0])
	var errs [3]error
	key.id, errs[0] = url.PathUnescape(parts[1])
	key.boot, errs[1] = url.PathUnescape(parts[2])
	_, errs[2] = strconv.ParseUint(parts[3], 16, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return key, fmt.Errorf("gossip: %q is no member's name: %w", name, err)
	}
	return key, nil
}
