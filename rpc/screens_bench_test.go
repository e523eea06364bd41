//go:build unix

package rpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// shows is a host whose one agent prints without a pause: whoever follows its screen gets a frame of 200 by 50
// each 400 ms, as agentd gives them at most.
func shows(b *testing.B, ctx context.Context, w *world, host noun.HostID) {
	stream, err := w.host(0).Stream(ctx)
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	send := func(m *vigilv1.HostMessage) error {
		mu.Lock()
		defer mu.Unlock()
		return stream.Send(m)
	}
	if err := send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{
		Hello: &vigilv1.Hello{Host: uint32(host), Boot: "b1"}}}); err != nil {
		b.Fatal(err)
	}
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			if p := m.GetPing(); p != nil {
				_ = send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Pong{Pong: &vigilv1.Pong{N: p.GetN()}}})
			}
			if r := m.GetLogRequest(); r != nil {
				go paints(ctx, r.GetRequest(), send)
			}
		}
	}()
}

func paints(ctx context.Context, request uint64, send func(*vigilv1.HostMessage) error) {
	tick := time.NewTicker(400 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		line := fmt.Sprintf("\x1b[32m%8d\x1b[39m %s\n", n, strings.Repeat("what an agent prints ", 5))
		data, err := proto.Marshal(&vigilv1.Screen{Text: strings.Repeat(line, 50), Columns: 200, Rows: 50})
		if err != nil || send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_LogData{
			LogData: &vigilv1.LogData{Request: request, Data: data}}}) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// BenchmarkScreens holds pages open for some seconds, each with its stream of news and the screen of an agent that
// prints without a pause, and reports how many cores the whole process takes, clients and hosts included. It fails
// when looking wrote an entry of the log.
func BenchmarkScreens(b *testing.B) {
	const hosts = 4 // one host takes 64 readers at most
	for _, n := range []int{0, 1, 200} {
		b.Run(fmt.Sprintf("pages=%d", n), func(b *testing.B) {
			w := furnished(b, 1000, 1000)
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			if _, err := w.fleet(0).ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: "screens", Roles: []*vigilv1.RoleSpec{
				{Name: "shown", Runner: "sh", Replicas: hosts}}}); err != nil {
				b.Fatal(err)
			}
			names := make([]string, hosts)
			for i := range hosts {
				if names[i] = "screens/shown"; i > 0 {
					names[i] += fmt.Sprintf(".%d", i+1)
				}
				var agent noun.AgentID
				w.nodes[0].Read(func(st *fsm.View) { agent = st.AgentByName(names[i]).ID })
				host := noun.HostID(i + 1)
				for _, cmd := range []fsm.Command{
					fsm.RegisterHost{Key: fmt.Sprint("k", i), Name: fmt.Sprint("h", i), Boot: "b1", Runners: []string{"sh"}},
					fsm.OrderStart{Agent: agent, Inc: 1, Host: host},
					fsm.AcceptOrder{Host: host, Boot: "b1", Agent: agent, Inc: 1},
					fsm.ReportStarted{Host: host, Agent: agent, Inc: 1, PID: 7},
				} {
					if err := w.do(cmd); err != nil {
						b.Fatalf("%T: %v", cmd, err)
					}
				}
				shows(b, ctx, w, host)
			}
			var frames atomic.Int64
			for i := range n {
				s, err := w.desk(0).Follow(ctx, &vigilv1.FollowRequest{})
				if err != nil {
					b.Fatal(err)
				}
				go drain(s.Recv)
				screen := looks(b, ctx, w, names[i%hosts])
				go drain(func() (*vigilv1.Screen, error) { frames.Add(1); return screen.Recv() })
			}
			b.ResetTimer()
			before, began, entries := processorTime(b), time.Now(), w.newest()
			frames.Store(0)
			for range b.N {
				time.Sleep(5 * time.Second)
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(time.Since(began)), "cores")
			b.ReportMetric(float64(frames.Load())/time.Since(began).Seconds(), "frames/s")
			if now := w.newest(); now != entries {
				b.Errorf("looking wrote %d entries of the log", now-entries)
			}
		})
	}
}

// looks follows the screen of an agent once its host is connected.
func looks(b *testing.B, ctx context.Context, w *world, agent string) vigilv1.Fleet_FollowScreenClient {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		screen, err := w.fleet(0).FollowScreen(ctx, &vigilv1.FollowScreenRequest{Agent: agent})
		if err == nil {
			_, err = screen.Recv()
		}
		if err == nil {
			return screen
		}
		if time.Now().After(end) {
			b.Fatal(err)
		}
	}
}

// drain takes all that a stream brings.
func drain[T any](next func() (T, error)) {
	for {
		if _, err := next(); err != nil {
			return
		}
	}
}
