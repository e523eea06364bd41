package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// fleet is some members in one bubble: servers first.
type fleet struct {
	t       *testing.T
	net     *network
	servers int
	members []*Gossip
	stops   []context.CancelFunc
	ended   []chan struct{}
}

// bubble runs a fleet of servers and hosts that has found itself.
func bubble(t *testing.T, servers, hosts int, story func(f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, net: newNetwork(), servers: servers}
		for i := range servers + hosts {
			f.start(i, func(*Config) {})
		}
		time.Sleep(rejoinEvery)
		for range 60 { // a rumor may take a round more
			if f.whole() {
				break
			}
			time.Sleep(time.Second)
		}
		f.all(Alive)
		story(f)
		for _, stop := range f.stops {
			stop()
		}
		for _, ended := range f.ended {
			<-ended
		}
		time.Sleep(time.Minute) // the library's own timers
	})
}

// start starts member i, for the first time or again.
func (f *fleet) start(i int, change func(*Config)) {
	f.t.Helper()
	f.startIn("cluster", i, change)
}

// startIn starts member i in a cluster.
func (f *fleet) startIn(cluster string, i int, change func(*Config)) {
	f.t.Helper()
	e := f.net.end(i + 1)
	cfg := Config{Kind: Host, ID: fmt.Sprintf("h%d", i), Boot: "boot", transport: e}
	if i < f.servers {
		cfg.Kind, cfg.ID, cfg.Boot = Server, fmt.Sprintf("s%d", i), ""
	}
	change(&cfg)
	g, err := Open(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	if i < len(f.members) {
		f.members[i] = g
	} else {
		f.members = append(f.members, g)
	}
	// Hosts know the servers, servers know everybody.
	for n, m := range f.members {
		for other := range f.members {
			if n < f.servers || other < f.servers {
				its := "" // as before
				if n == i {
					its = cluster
				}
				m.Know(its, append(slices.Clone(m.likely.addrs), f.members[other].Addr()), nil)
			}
		}
	}
	ctx, stop := context.WithCancel(f.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := g.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	if i < len(f.stops) {
		f.stops[i], f.ended[i] = stop, ended
		return
	}
	f.stops, f.ended = append(f.stops, stop), append(f.ended, ended)
}

// stop ends a member; leave has it say good-bye.
func (f *fleet) stop(i int, leave bool) {
	if leave {
		f.members[i].Leave()
	}
	f.stops[i]()
	<-f.ended[i]
}

func (f *fleet) addr(i int) string { return fmt.Sprintf("10.0.0.%d:%d", i+1, port) }

// hears gives how server s hears host i.
func (f *fleet) hears(s, i int) State {
	return f.members[s].Hears(Host, f.members[i].cfg.ID, f.members[i].cfg.Boot)
}

// host demands how all servers hear a host.
func (f *fleet) host(i int, want State) {
	f.t.Helper()
	for s := range f.servers {
		if got := f.hears(s, i); got != want {
			f.t.Errorf("server %d hears host %d: %v, want %v", s, i, got, want)
		}
	}
}

// most demands how a majority of the servers hears a host, which is what counts.
func (f *fleet) most(i int, want State) {
	f.t.Helper()
	heard := map[State]int{}
	for s := range f.servers {
		heard[f.hears(s, i)]++
	}
	if 2*heard[want] <= f.servers {
		f.t.Errorf("servers hear host %d: %v, want most of them to hear %v", i, heard, want)
	}
}

func (f *fleet) all(want State) {
	f.t.Helper()
	for i := f.servers; i < len(f.members); i++ {
		f.host(i, want)
	}
}

// whole tells whether every server hears every host.
func (f *fleet) whole() bool {
	for i := f.servers; i < len(f.members); i++ {
		for s := range f.servers {
			if f.hears(s, i) != Alive {
				return false
			}
		}
	}
	return true
}

// until waits until the majority of the servers hears host i so, and tells how long
// that took.
func (f *fleet) until(i int, want State, limit time.Duration) time.Duration {
	f.t.Helper()
	began := time.Now()
	for {
		n := 0
		for s := range f.servers {
			if f.hears(s, i) == want {
				n++
			}
		}
		took := time.Since(began)
		if 2*n > f.servers {
			return took
		}
		if took > limit {
			f.t.Errorf("most servers should hear host %d %v within %s", i, want, limit)
			return took
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// cut loses everything from and to a member, or with udp only that.
func (f *fleet) cut(i int, udp bool) {
	at := f.addr(i)
	f.net.lose(func(from, to string, isUDP bool) bool { return (from == at || to == at) && (isUDP || !udp) })
}

func (f *fleet) heal() { f.net.lose(func(string, string, bool) bool { return false }) }

// A host that dies is silent within 7 s (median) for most of three servers.
func TestHostDeadIsSilentInTime(t *testing.T) {
	var took []time.Duration
	for range 15 {
		bubble(t, 3, 3, func(f *fleet) {
			time.Sleep(time.Duration(rand.Int64N(int64(5 * time.Second)))) // any phase of the probes
			f.stop(5, false)
			took = append(took, f.until(5, Silent, 15*time.Second))
			f.host(3, Alive)
			f.host(4, Alive)
		})
	}
	slices.Sort(took)
	t.Logf("median %s, worst %s", took[len(took)/2], took[len(took)-1])
	if median := took[len(took)/2]; median > 7*time.Second {
		t.Errorf("median of %d: %s, want at most 7s", len(took), median)
	}
}

// L10: nobody is taken for dead while all is well but every 20th packet.
func TestNoFalseSilence(t *testing.T) {
	bubble(t, 3, 5, func(f *fleet) {
		dice := rand.New(rand.NewPCG(7, 7))
		f.net.lose(func(_, _ string, udp bool) bool { return udp && dice.IntN(100) < 5 })
		for range 300 {
			time.Sleep(time.Second)
			f.all(Alive)
			if f.t.Failed() {
				return
			}
		}
	})
}

func TestHostThatLeavesIsToldFromOneThatFails(t *testing.T) {
	bubble(t, 3, 3, func(f *fleet) {
		f.stop(3, true)
		time.Sleep(2 * time.Second)
		f.host(3, Left)
		f.stop(4, false)
		time.Sleep(15 * time.Second)
		f.host(3, Left)
		f.host(4, Silent)
		f.host(5, Alive)
	})
}

// A partition of any length heals by itself, for a host, and between servers.
func TestLongPartitionHeals(t *testing.T) {
	for _, length := range []time.Duration{10 * time.Second, 40 * time.Second, 5 * time.Minute} {
		for _, who := range []int{0, 4} { // a server, a host
			t.Run(fmt.Sprintf("%s of member %d", length, who), func(t *testing.T) {
				bubble(t, 3, 3, func(f *fleet) {
					f.cut(who, false)
					time.Sleep(length)
					f.heal()
					healed := time.Now()
					for i := f.servers; i < len(f.members); i++ {
						f.until(i, Alive, 20*time.Second)
					}
					time.Sleep(20*time.Second - time.Since(healed))
					f.all(Alive)
				})
			})
		}
	}
}

// A host whose UDP port is blocked is not taken for one that gossips, though the
// library keeps joining it over TCP, and is not heard alive now and then.
func TestBlockedUDPIsSilent(t *testing.T) {
	bubble(t, 3, 3, func(f *fleet) {
		f.cut(3, true)
		f.until(3, Silent, 15*time.Second)
		time.Sleep(10 * time.Second)
		for range 240 {
			time.Sleep(500 * time.Millisecond)
			f.most(3, Silent)
			f.most(4, Alive) // the blocked one accuses the others, and a server believes it for a moment
			if f.t.Failed() {
				return
			}
		}
		f.heal()
		f.until(3, Alive, 20*time.Second)
	})
}

func TestBlockedUDPFromTheBeginning(t *testing.T) {
	bubble(t, 3, 1, func(f *fleet) {
		f.cut(4, true)
		f.start(4, func(*Config) {})
		time.Sleep(confirmFor + rejoinEvery)
		for range 200 {
			time.Sleep(500 * time.Millisecond)
			f.host(4, Silent)
			if f.t.Failed() {
				return
			}
		}
	})
}

// A daemon that was killed and started again at once is heard all the time, also on
// another address; a rebooted host is another one.
func TestRestartedDaemonIsHeardAllTheTime(t *testing.T) {
	bubble(t, 3, 3, func(f *fleet) {
		f.stop(3, false)
		time.Sleep(time.Second)
		f.start(3, func(c *Config) { c.transport = f.net.end(99) })
		for range 60 {
			time.Sleep(500 * time.Millisecond)
			f.host(3, Alive)
		}
		f.stop(3, false)
		f.start(3, func(c *Config) { c.Boot = "another" })
		time.Sleep(15 * time.Second)
		f.host(3, Alive)
		if got := f.members[0].Hears(Host, "h3", "boot"); got != Silent {
			t.Errorf("the boot before is heard %v, want silent", got)
		}
	})
}

// A server that starts again learns all hosts from the others.
func TestServerStartsAgain(t *testing.T) {
	bubble(t, 3, 3, func(f *fleet) {
		f.stop(0, true)
		time.Sleep(time.Minute)
		f.start(0, func(*Config) {})
		time.Sleep(rejoinEvery)
		f.all(Alive)
	})
}

// Servers that go on as a recovered cluster hear the hosts again once these are told of it,
// with no daemon started anew.
func TestN07HostsFollowARecoveredCluster(t *testing.T) {
	bubble(t, 1, 3, func(f *fleet) {
		f.stop(0, false)
		f.startIn("cluster~1", 0, func(*Config) {})
		time.Sleep(time.Minute)
		f.all(Unknown)
		for i := 1; i < len(f.members); i++ {
			f.members[i].Know("cluster~1", []string{f.addr(0)}, nil)
		}
		time.Sleep(2 * rejoinEvery)
		f.all(Alive)
	})
}

// Members of another cluster, or with another key, are never heard.
func TestStrangersAreNotHeard(t *testing.T) {
	key := func(b byte) []byte { return slices.Repeat([]byte{b}, 32) }
	for _, tt := range []struct {
		name    string
		server  []byte
		host    []byte
		cluster string
		want    State
	}{
		{"same key", key(1), key(1), "cluster", Alive},
		{"another key", key(1), key(2), "cluster", Unknown},
		{"no key", key(1), nil, "cluster", Unknown},
		{"key where there is none", nil, key(1), "cluster", Unknown},
		{"another cluster", nil, nil, "another", Unknown},
		{"another cluster, same key", key(1), key(1), "another", Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{t: t, net: newNetwork(), servers: 1}
				f.start(0, func(c *Config) { c.Key = tt.server })
				f.startIn(tt.cluster, 1, func(c *Config) { c.Key = tt.host })
				time.Sleep(time.Minute)
				f.host(1, tt.want)
				f.stop(0, false)
				f.stop(1, false)
				time.Sleep(time.Minute)
			})
		})
	}
}
