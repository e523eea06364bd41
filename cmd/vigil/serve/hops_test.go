package serve

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// hops is a cluster of replicas and APIs, and clients that beat through them: all that
// a beat passes is real, but for the wires and the disks.
type hops struct {
	t    *testing.T
	net  *hopsNet
	c    *clustertest.Cluster
	wg   sync.WaitGroup
	stop chan struct{}

	mu    sync.Mutex
	worst time.Duration // from the sending of a beat that was answered to the next answer

	apis  []*hopsPort
	ends  []context.CancelFunc
	dones []chan struct{}
}

const (
	hopsServers = 3
	hopsHosts   = 10
	hopsTTL     = 6 * time.Second
)

func hopsAPI(i int) string { return fmt.Sprintf("10.0.0.%d:7420", i+1) }

func newHops(t *testing.T, more ...clustertest.Option) *hops {
	h := &hops{t: t, net: newHopsNet(), stop: make(chan struct{}), apis: make([]*hopsPort, hopsServers),
		ends: make([]context.CancelFunc, hopsServers), dones: make([]chan struct{}, hopsServers)}
	t.Cleanup(func() {
		for i := range hopsServers {
			h.apiDown(i)
		}
	})
	h.c = clustertest.New(t, hopsServers, append(more, clustertest.OnOpen(h.apiUp))...)
	return h
}

// apiUp opens the API of a replica that was just opened.
func (h *hops) apiUp(i int, replica *cluster.Replica) {
	port := h.net.listen(hopsAPI(i))
	api, err := rpc.Open(rpc.Config{Listener: port, ServerID: fmt.Sprintf("s%d", i+1), Version: "test", Writer: replica,
		Reader: reader{replica}, Members: members{replica}, Health: replica, Dial: h.net.dialer(hopsAPI(i)),
		StopGrace: time.Millisecond})
	if err != nil {
		h.t.Errorf("open api: %v", err)
		return
	}
	replica.SetReach(api)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := api.Run(ctx); err != nil {
			h.t.Errorf("api of server %d: %v", i, err)
		}
	}()
	h.apis[i], h.ends[i], h.dones[i] = port, cancel, done
}

func (h *hops) apiDown(i int) {
	h.net.hold(hopsAPI(i), false)
	h.apis[i].die()
	h.ends[i]()
	<-h.dones[i]
}

// host joins an agent and beats for it as agentd does, through a client of its own.
func (h *hops) host(i int, k *clustertest.Client, phase time.Duration) {
	name := "r/builder"
	if i > 0 {
		name = fmt.Sprintf("r/builder.%d", i+1)
	}
	out := k.Do(fsm.Join{Speaker: fsm.Speaker{Agent: name}})
	if out.Code != noun.OK {
		h.t.Fatalf("join: %s", out.Detail)
	}
	var addrs []string
	for n := range hopsServers {
		addrs = append(addrs, hopsAPI((n+i)%hopsServers))
	}
	cl, err := client.Open(client.Config{Addrs: addrs, Name: name, Dial: h.net.dialer(name)})
	if err != nil {
		h.t.Fatal(err)
	}
	request := &vigilv1.BeatRequest{Agents: []uint32{uint32(out.Agent)}, Incarnations: []uint64{uint64(out.Inc)},
		Kinds: []uint32{fsm.BeatLease}}
	h.wg.Go(func() {
		defer cl.Close()
		proven := time.Now()
		for wait := phase; ; {
			select {
			case <-h.stop:
				return
			default:
				time.Sleep(wait)
			}
			sent := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), hopsTTL/4)
			answer, err := vigilv1.NewWorkClient(cl).Beat(ctx, request)
			cancel()
			if len(answer.GetExceptions()) > 0 {
				h.t.Errorf("L10: a beat of %s was answered %v", name, answer.GetExceptions())
				return
			}
			if err != nil {
				wait = time.Second - time.Since(sent)
				continue
			}
			wait = hopsTTL/4 - time.Since(sent)
			h.mu.Lock()
			h.worst = max(h.worst, time.Since(proven))
			h.mu.Unlock()
			proven = sent
		}
	})
}

func (h *hops) leader() int {
	for i := range hopsServers {
		if rep := h.c.Replica(i); rep != nil && rep.Leader().Self {
			return i
		}
	}
	return -1
}

// strike does one of three bad things to a server and gives what undoes it.
func (h *hops) strike(kind, i int) (undo func()) {
	switch kind % 3 {
	case 0: // stopped
		h.c.Pause(i)
		h.net.hold(hopsAPI(i), true)
		return func() { h.net.hold(hopsAPI(i), false); h.c.Resume(i) }
	case 1: // cut off from the other servers
		h.c.Isolate(i)
		return h.c.Heal
	default:
		h.apiDown(i)
		h.c.Kill(i)
		return func() { h.c.Restart(i) }
	}
}

// L10, incident I15: the leader is stopped, cut off or killed every 1.1 s for a minute.
// No beat hangs anywhere for so long that a lease of 6 s ends.
func TestL10BeatsSurviveAHuntForLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHops(t)
		k := h.c.Client()
		k.Do(fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "builder", Replicas: hopsHosts,
			TTL: hopsTTL}}, By: "test"})
		for i := range hopsServers {
			k.Do(fsm.PutServer{ID: h.c.ID(i), RaftAddr: h.c.Addr(i), APIAddr: hopsAPI(i),
				Features: cluster.FeatureLevel})
		}
		for i := range hopsHosts {
			h.host(i, k, time.Duration(i)*hopsTTL/4/hopsHosts)
		}
		time.Sleep(10 * time.Second)
		undo, struck := func() {}, 0
		for n := 0; n < 55; n++ {
			if l := h.leader(); l >= 0 {
				undo()
				undo = h.strike(n, l)
				struck++
			}
			time.Sleep(1100 * time.Millisecond)
		}
		undo()
		time.Sleep(20 * time.Second)
		close(h.stop)
		h.wg.Wait()
		h.c.Replica(h.c.Leader()).Read(func(s *fsm.View) {
			t.Logf("%d strikes in a minute; cluster time %v; at worst %v between proofs", struck,
				time.Duration(s.Clock()), h.worst)
			for a := range s.Agents("") {
				if a.Part != noun.PartWaiting {
					t.Errorf("L10: %s is %v in its life %v", a.Name, a.Part, a.Inc)
				}
			}
		})
		// A beat may hang at each hop in turn, but nowhere for long.
		if h.worst > hopsTTL+time.Second {
			t.Errorf("a host was without an answer for %v", h.worst)
		}
		if struck < 30 {
			t.Errorf("only %d leaders were struck", struck)
		}
	})
}
