package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/events"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// mailWatch notes when the events about each mail came to a client.
type mailWatch struct {
	mu   sync.Mutex
	seen map[string]time.Time // by kind and mail
}

func (w *mailWatch) run(ctx context.Context, c *cli.Conn) error {
	return events.Watch(ctx, c, &vigilv1.WatchEventsRequest{Room: "r", Tail: true}, func(e *vigilv1.Event) error {
		var id uint64
		if _, err := fmt.Sscanf(e.GetText(), "mail %d,", &id); err != nil {
			return nil // about several mails, or none
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		key := fmt.Sprintf("%s %d", e.GetKind(), id)
		if !w.seen[key].IsZero() {
			key += " again"
		}
		w.seen[key] = time.Now()
		return nil
	})
}

// Urgent mail that nobody acknowledges is escalated after 2 min, high mail is reminded of
// after 5 and escalated after 10, normal mail is reminded of after 15 min, low mail is
// recorded after 1 h. A reminder wakes the life that waits for mail. Nothing follows of what
// was acknowledged.
func TestDetectionThroughTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHops(t, clustertest.Calm())
		k := h.c.Client()
		k.Do(fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "builder", TTL: 10 * time.Minute}}, By: "test"})
		for i := range hopsServers {
			k.Do(fsm.PutServer{ID: h.c.ID(i), RaftAddr: h.c.Addr(i), APIAddr: hopsAPI(i),
				Features: cluster.FeatureLevel})
		}
		c := h.conn("people")
		defer c.Close()
		ctx, stop := context.WithCancel(t.Context())
		watch, over := &mailWatch{seen: map[string]time.Time{}}, make(chan error, 1)
		go func() { over <- watch.run(ctx, c) }()
		worker, err := client.Join(ctx, c.Client, client.WorkerConfig{Agent: "r/builder"})
		if err != nil {
			t.Fatal(err)
		}
		box := worker.Mailbox()

		sent, ids := time.Now(), map[string]uint64{}
		for _, priority := range []string{"low", "normal", "high", "urgent"} {
			for _, fate := range []string{"left", "acknowledged"} {
				answer, err := c.Mail.SendMail(ctx,
					&vigilv1.SendMailRequest{From: "ann", To: "r/builder", Subject: fate, Priority: priority})
				if err != nil {
					t.Fatal(err)
				}
				ids[priority+" "+fate] = answer.GetMails()[0]
			}
		}
		list, err := box.Read(ctx)
		if err != nil || len(list) != 8 {
			t.Fatalf("%d mails were read, %v", len(list), err)
		}
		for i, priority := range []string{"urgent", "urgent", "high", "high", "normal", "normal", "low", "low"} {
			if list[i].GetPriority() != priority {
				t.Errorf("mail number %d that is read is %s, want %s", i+1, list[i].GetPriority(), priority)
			}
			if list[i].GetSubject() != "acknowledged" {
				continue
			}
			if err := box.Ack(ctx, list[i].GetId()); err != nil {
				t.Error(err)
			}
		}
		for _, remind := range []struct {
			priority string
			after    time.Duration
		}{{"high", 5 * time.Minute}, {"normal", 15 * time.Minute}} {
			list, err := box.Wait(ctx)
			if err != nil || len(list) != 1 || list[0].GetId() != ids[remind.priority+" left"] ||
				!list[0].GetRedelivered() || list[0].GetReminded() != 1 {
				t.Fatalf("woken with %v, %v; want the %s mail once more", list, err, remind.priority)
			}
			near(t, "woken by the reminder of "+remind.priority+" mail", time.Since(sent), remind.after)
		}
		time.Sleep(70 * time.Minute)
		want := map[string]time.Duration{"mail.escalated urgent left": 2 * time.Minute,
			"mail.reminder high left":  5 * time.Minute,
			"mail.escalated high left": 10 * time.Minute, "mail.reminder normal left": 15 * time.Minute,
			"mail.overdue low left": time.Hour}
		stop()
		if err := <-over; !errors.Is(err, context.Canceled) && !errors.Is(err, client.ErrCanceled) {
			t.Errorf("watch: %v", err)
		}
		names := map[string]string{}
		for name, id := range ids {
			names[fmt.Sprint(id)] = name
		}
		for key, at := range watch.seen {
			var kind, id, again string
			fmt.Sscan(key, &kind, &id, &again)
			switch name := kind + " " + names[id] + again; {
			case kind == "mail.sent" || kind == "mail.acknowledged":
			case want[name] == 0:
				t.Errorf("%s came after %v", name, at.Sub(sent))
			default:
				near(t, name, at.Sub(sent), want[name])
				delete(want, name)
			}
		}
		if len(want) > 0 {
			t.Errorf("never came: %v", want)
		}
		worker.Detach()
	})
}

// near is a simulated time that fits: entries that carry the time come every few seconds.
func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want || got > want+5*time.Second {
		t.Errorf("%s after %v, want %v", what, got, want)
	}
}

// conn is a client that knows all servers.
func (h *hops) conn(name string) *cli.Conn {
	var addrs []string
	for i := range hopsServers {
		addrs = append(addrs, hopsAPI(i))
	}
	c, err := client.Open(client.Config{Addrs: addrs, Name: name, Dial: h.net.dialer(name)})
	if err != nil {
		h.t.Fatal(err)
	}
	return cli.NewConn(c)
}
