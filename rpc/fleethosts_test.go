package rpc

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// register brings a host with one runner and gives its number.
func (w *world) register(key, name string) uint32 {
	w.t.Helper()
	reg, err := w.host(0).Register(within(w.t),
		&vigilv1.RegisterRequest{Key: key, Name: name, Boot: "b1", Runners: []string{"sh"},
			Warnings: []string{"no cgroup"}, GossipAddr: "10.0.0.9:7422"})
	if err != nil {
		w.t.Fatal(err)
	}
	return reg.GetHost()
}

func (w *world) hostNamed(name string) *vigilv1.Host {
	w.t.Helper()
	h, err := w.fleet(0).GetHost(within(w.t), &vigilv1.GetHostRequest{Host: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// L9: a word about a host never goes to another host of the same name, for instance
// to the record of a machine before it was set up anew.
func TestL9HostsOfOneNameAreToldApart(t *testing.T) {
	w := start(t, 1)
	one, two := fmt.Sprint(w.register("k1", "web1")), fmt.Sprint(w.register("k2", "web1"))
	for what, call := range map[string]func(host string) error{
		"show": func(host string) error {
			_, err := w.fleet(0).GetHost(within(t), &vigilv1.GetHostRequest{Host: host})
			return err
		},
		"list": func(host string) error {
			_, err := w.fleet(0).ListAgents(within(t), &vigilv1.ListAgentsRequest{Host: host})
			return err
		},
		"drain": func(host string) error {
			_, err := w.fleet(0).DrainHost(within(t), &vigilv1.DrainHostRequest{Host: host})
			return err
		},
		"confirm": func(host string) error {
			_, err := w.fleet(0).ConfirmDead(within(t), &vigilv1.ConfirmDeadRequest{Host: host, Force: true})
			return err
		},
	} {
		err := call("web1")
		if p := fault.Of(err); p.Code != "conflict" || !strings.Contains(err.Error(), one+" (") ||
			!strings.Contains(err.Error(), two+" (") {
			t.Errorf("%s: got %v, want a conflict that names both numbers", what, err)
		}
		if err := call(two); err != nil {
			t.Errorf("%s by number: %v", what, err)
		}
	}
	if first := w.hostNamed(one); first.GetDrain() || first.GetState() != "ready" {
		t.Errorf("the other host was changed: %v", first)
	}
}

func TestRegisterTellsWhereToGossip(t *testing.T) {
	w := start(t, 2)
	for i, addr := range []string{"10.0.0.1:7421", ""} {
		_, err := w.cluster(0).AnnounceServer(within(t),
			&vigilv1.AnnounceServerRequest{Id: w.nodes[i].id, ApiAddr: w.nodes[i].addr, GossipAddr: addr})
		if err != nil {
			t.Fatal(err)
		}
	}
	reg, err := w.host(1).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1", Boot: "b1",
		Warnings: []string{"no cgroup"}, GossipAddr: "10.0.0.9:7422"})
	if err != nil || len(reg.GetGossipAddrs()) != 1 || reg.GetGossipAddrs()[0] != "10.0.0.1:7421" ||
		reg.GetClusterId() != "test" || reg.GetTtl().AsDuration() <= 0 {
		t.Fatalf("register: %v, %v", reg, err)
	}
	if h := w.hostNamed("h1"); h.GetGossipAddr() != "10.0.0.9:7422" || len(h.GetWarnings()) != 1 ||
		h.GetWarnings()[0] != "no cgroup" || h.GetState() != "ready" {
		t.Fatalf("host: %v", h)
	}
	servers, err := w.cluster(0).ListServers(within(t), &vigilv1.ListServersRequest{})
	if err != nil || servers.GetServers()[0].GetGossipAddr() != "10.0.0.1:7421" {
		t.Fatalf("servers: %v, %v", servers, err)
	}
}

func TestViewsAreShownWithTheHost(t *testing.T) {
	w := start(t, 2)
	id := w.register("k1", "h1")
	report := func(server, gossip, stream string, all bool) {
		t.Helper()
		_, err := w.cluster(1).ReportViews(within(t), &vigilv1.ReportViewsRequest{Server: server, All: all,
			Views: []*vigilv1.HeardHost{{Host: id, Gossip: gossip, Stream: stream}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	report("s2", "silent", "", true)
	report("s1", "alive", "alive", false)
	want := []*vigilv1.HostView{{Server: "s1", Gossip: "alive", Stream: "alive"},
		{Server: "s2", Gossip: "silent", Stream: "none"}}
	got := w.hostNamed("h1").GetViews()
	if len(got) != 2 || !proto.Equal(got[0], want[0]) || !proto.Equal(got[1], want[1]) {
		t.Fatalf("views %v, want %v", got, want)
	}
	if _, err := w.cluster(1).ReportViews(within(t), &vigilv1.ReportViewsRequest{Server: "s2", All: true}); err != nil {
		t.Fatal(err)
	}
	if got = w.hostNamed("h1").GetViews(); len(got) != 1 || got[0].GetServer() != "s1" {
		t.Fatalf("views %v after s2 hears nobody", got)
	}
}

// L9: a drain is durable and names who wanted it; one by agentd itself ends with its
// good-bye.
func TestDrainOfAHost(t *testing.T) {
	w := start(t, 2)
	w.register("k1", "h1")
	h, err := w.fleet(1).DrainHost(within(t), &vigilv1.DrainHostRequest{Host: "h1", By: "ann",
		Deadline: durationpb.New(time.Minute)})
	if err != nil || !h.GetDrain() || h.GetState() != "draining" || h.GetDrainBy() != "ann" ||
		h.GetDrainAt() == nil || h.GetDrainLeft().AsDuration() != time.Minute {
		t.Fatalf("drain: %v, %v", h, err)
	}
	st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
	if err != nil || st.GetHostStates()["draining"] != 1 || st.GetHostStates()["ready"] != 0 {
		t.Fatalf("status: %v, %v", st.GetHostStates(), err)
	}
	self := &vigilv1.DrainSelfRequest{Key: "k1", Boot: "b1"}
	if _, err := w.host(1).DrainSelf(within(t), self); err != nil {
		t.Fatal(err)
	}
	if h = w.hostNamed("h1"); h.GetDrainBy() != "ann" {
		t.Fatalf("drained by %q after agentd said so too, want ann", h.GetDrainBy())
	}
	if h, err = w.fleet(0).DrainHost(within(t), &vigilv1.DrainHostRequest{Host: fmt.Sprint(h.GetId()),
		Off: true}); err != nil || h.GetDrain() || h.GetState() != "ready" {
		t.Fatalf("undrain by the number: %v, %v", h, err)
	}
	if _, err := w.host(1).DrainSelf(within(t), self); err != nil || w.hostNamed("h1").GetState() != "draining" {
		t.Fatalf("agentd's drain: %v, %v", w.hostNamed("h1"), err)
	}
	if _, err := w.host(1).LeaveHost(within(t), &vigilv1.LeaveHostRequest{Key: "k1", Boot: "b1"}); err != nil {
		t.Fatal(err)
	}
	if w.register("k1", "h1"); w.hostNamed("h1").GetState() != "ready" {
		t.Fatalf("after the good-bye: %v", w.hostNamed("h1"))
	}
	for want, r := range map[string]*vigilv1.DrainSelfRequest{"superseded": {Key: "k1", Boot: "b2"},
		"not_found": {Key: "k9", Boot: "b1"}, "invalid": {Key: "k1"}} {
		if _, err := w.host(0).DrainSelf(within(t), r); codeOf(err) != want {
			t.Errorf("%v: %v, want %s", r, err, want)
		}
	}
	if _, err := w.fleet(0).DrainHost(within(t), &vigilv1.DrainHostRequest{Host: "moon"}); codeOf(err) !=
		"not_found" || !strings.Contains(err.Error(), "vigil host list") {
		t.Errorf("drain of an unknown host: %v", err)
	}
}

// A host that is heard is not taken for dead; one that is dead can be forgotten, and
// the same request again gets the same answer.
func TestDeadHostIsGivenUpAndForgotten(t *testing.T) {
	w := start(t, 1)
	id := w.register("k1", "h1")
	w.register("k2", "h2")
	if _, err := w.cluster(0).ReportViews(within(t), &vigilv1.ReportViewsRequest{Server: "s1",
		Views: []*vigilv1.HeardHost{{Host: id, Stream: "alive"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.fleet(0).ConfirmDead(within(t), &vigilv1.ConfirmDeadRequest{Host: "h1"}); codeOf(err) != "conflict" {
		t.Fatalf("confirm-dead of a host that is heard: %v", err)
	}
	if _, err := w.fleet(0).ForgetHost(within(t), &vigilv1.ForgetHostRequest{Host: "h1"}); codeOf(err) != "conflict" {
		t.Fatalf("forget of a host in service: %v", err)
	}
	h, err := w.fleet(0).ConfirmDead(within(t), &vigilv1.ConfirmDeadRequest{Host: "h1", Force: true, By: "ann"})
	if err != nil || h.GetState() != "lost" {
		t.Fatalf("forced: %v, %v", h, err)
	}
	s, err := w.work(0).OpenSession(within(t), &vigilv1.OpenSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	req := &vigilv1.ForgetHostRequest{Host: "h1", By: "ann", Id: &vigilv1.WriteId{Session: s.GetSession(), Seq: 1}}
	for i := range 2 {
		if _, err := w.fleet(0).ForgetHost(within(t), req); err != nil {
			t.Fatalf("forget, time %d: %v", i+1, err)
		}
	}
	if _, err := w.fleet(0).GetHost(within(t), &vigilv1.GetHostRequest{Host: "h1"}); codeOf(err) != "not_found" {
		t.Fatalf("a forgotten host: %v", err)
	}
	req.Id.Seq = 2
	if _, err := w.fleet(0).ForgetHost(within(t), req); codeOf(err) != "not_found" ||
		!strings.Contains(err.Error(), `"h1"`) {
		t.Fatalf("forget of a forgotten host: %v", err)
	}
}

func TestTroubleOfHostsIsAWarning(t *testing.T) {
	w := start(t, 1)
	a, b := w.register("k1", "h1"), w.register("k2", "h2")
	if _, err := w.host(0).ReportPressure(within(t),
		&vigilv1.ReportPressureRequest{Host: a, Boot: "b1", Reason: "is short of memory"}); err != nil {
		t.Fatal(err)
	}
	if err := w.do(fsm.SuspectHost{Host: noun.HostID(b), Suspect: true,
		Reason: "no server hears its stream"}); err != nil {
		t.Fatal(err)
	}
	st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Host h1 gets no starts: is short of memory.",
		"Host h2 gets no starts: no server hears its stream."} {
		if !strings.Contains(strings.Join(st.GetWarnings(), "\n"), want) {
			t.Errorf("warnings %q lack %q", st.GetWarnings(), want)
		}
	}
	if h := w.hostNamed("h1"); h.GetPressure() != "is short of memory" {
		t.Errorf("host: %v", h)
	}
	if h := w.hostNamed("h2"); h.GetState() != "suspect" || h.GetSuspectWhy() != "no server hears its stream" {
		t.Errorf("host: %v", h)
	}
	if _, err := w.host(0).ReportPressure(within(t), &vigilv1.ReportPressureRequest{Host: a,
		Boot: "b1"}); err != nil || w.hostNamed("h1").GetPressure() != "" {
		t.Errorf("pressure that has gone: %v, %v", w.hostNamed("h1"), err)
	}
}

func TestProcessThatCannotBeEndedIsShown(t *testing.T) {
	w := start(t, 1)
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "sh"}}}); err != nil {
		t.Fatal(err)
	}
	host := w.register("k1", "h1")
	a := w.order(t, "demo/builder", noun.HostID(host))
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: host, Boot: "b1",
		Agent: a.GetId(), Incarnation: a.GetIncarnationRaw()}); err != nil {
		t.Fatal(err)
	}
	stuck := &vigilv1.ReportStuckRequest{Host: host, Agent: a.GetId(), Incarnation: a.GetIncarnationRaw(),
		Reason: "pid 7 outlives KILL"}
	if _, err := w.host(0).ReportStuck(within(t), stuck); err != nil {
		t.Fatal(err)
	}
	got, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil || got.GetAgent().GetStuck() != "pid 7 outlives KILL" || got.GetAgent().GetWhyCode() != "unkillable" {
		t.Fatalf("agent: %v, %v", got.GetAgent(), err)
	}
}

func TestHTTPReachesTheNewCalls(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.register("k1", "h1")
	w.task(0, "demo", "builder", "x")
	for _, tc := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/pause", `{"scope":"demo/builder","pause":true,"by":"ann","reason":"quota"}`, 200},
		{"POST", "/v1/pause", `{"scope":"demo/builder","pause":false}`, 200},
		{"POST", "/v1/pause", `{}`, 400},
		{"POST", "/v1/pause", `{"scope":"a/b/c"}`, 400},
		{"POST", "/v1/agents/demo/builder:unpark", `{}`, 200},
		{"POST", "/v1/tasks/1:unquarantine", `{}`, 409},
		{"POST", "/v1/brake:release", `{"by":"ann"}`, 200},
		{"POST", "/v1/hosts/h1:drain", `{"deadline":"60s","by":"ann"}`, 200},
		{"POST", "/v1/hosts/h1:drain", `{"off":true}`, 200},
		{"POST", "/v1/hosts/h1:confirm-dead", `{"force":true}`, 200},
		{"DELETE", "/v1/hosts/h1?by=ann", "", 200},
		{"DELETE", "/v1/hosts/h1", "", 404},
	} {
		if status, got, _ := w.call(0, tc.method, tc.path, tc.body); status != tc.status {
			t.Errorf("%s %s: %d %v, want %d", tc.method, tc.path, status, got, tc.status)
		}
	}
}

// Every answer tells where the servers are; a host that knows no majority of them is warned
// of before the others are taken away.
func TestN25HostsThatKnowTooFewServers(t *testing.T) {
	w := start(t, 2)
	var addrs []string
	for _, n := range w.nodes {
		if _, err := w.cluster(0).AnnounceServer(within(t),
			&vigilv1.AnnounceServerRequest{Id: n.id, ApiAddr: n.addr}); err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, n.addr)
	}
	slices.Sort(addrs)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var header metadata.MD
		if _, err := w.cluster(1).Status(within(t), &vigilv1.StatusRequest{Stale: true},
			grpc.Header(&header)); err != nil {
			t.Fatal(err)
		}
		if list := header.Get("vigil-servers"); len(list) == 1 && list[0] == strings.Join(addrs, ",") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("answers tell %q", list)
		}
	}
	if _, _, head := w.call(1, "GET", "/v1/status", ""); head.Get("Vigil-Servers") != strings.Join(addrs, ",") {
		t.Errorf("over HTTP: %v", head)
	}
	taken := uint64(0)
	warned := func(knows ...string) bool {
		t.Helper()
		// Another inventory each time, or it is taken for a repeat.
		taken++
		if _, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1",
			Boot: "b1", Taken: taken, Servers: knows}); err != nil {
			t.Fatal(err)
		}
		st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(st.GetWarnings(),
			func(s string) bool { return strings.HasPrefix(s, "Host h1 knows ") })
	}
	if !warned("10.0.0.1:7420", addrs[0]) || warned(addrs...) || !warned("10.0.0.1:7420") || warned() {
		t.Error("the warning is not about what the host knows")
	}
	if h := w.hostNamed("h1"); len(h.GetServers()) != 0 {
		t.Errorf("host %v", h)
	}
	for _, bad := range [][]string{make([]string, 33), {strings.Repeat("x", 256)}} {
		if _, err := w.host(0).Register(within(t),
			&vigilv1.RegisterRequest{Key: "k2", Boot: "b1", Servers: bad}); err == nil {
			t.Errorf("%d servers were accepted", len(bad))
		}
	}
}

// S3: what a host identifies itself with is in no answer: with it anybody could speak for the host.
func TestS03WhatHostsIdentifyThemselvesWithIsNotPublic(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	const key, boot = "0123456789abcdef-the-key", "the-boot-of-it"
	if _, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: key, Name: "h1", Boot: boot,
		Runners: []string{"sh"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: key + "2", Name: "h1",
		Boot: boot, Runners: []string{"sh"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: key, Name: "h1",
		Boot: boot + "2", Runners: []string{"sh"}}); err != nil {
		t.Log(err) // the fences of the boot before
	}
	for _, path := range []string{"/v1/hosts", "/v1/hosts/1", "/v1/hosts/h1", "/v1/status", "/v1/health",
		"/v1/agents", "/v1/agents/demo/builder", "/v1/rooms", "/v1/events?no_follow=true",
		"/v1/servers", "/metrics", "/"} {
		resp, err := http.Get("http://" + w.nodes[0].addr + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || len(text) == 0 {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		if strings.Contains(string(text), key) || strings.Contains(string(text), boot) {
			t.Errorf("%s tells it: %s", path, text)
		}
	}
	if _, err := w.fleet(0).GetHost(within(t), &vigilv1.GetHostRequest{Host: key}); codeOf(err) != "not_found" {
		t.Errorf("a host is found by its key: %v", err)
	}
}

// A2: what holds agents together on a host is measured there and can be read of the cluster; an unknown
// word is none.
func TestA02ContainmentOfAHostIsShown(t *testing.T) {
	w := start(t, 1)
	for word, want := range map[string]string{"sealed": "sealed", "group": "group", "weak": "weak", "": "",
		"magic": ""} {
		_, err := w.host(0).Register(within(t), &vigilv1.RegisterRequest{Key: "k1", Name: "h1",
			Boot: "b" + word, Containment: word})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.hostNamed("h1").GetContainment(); got != want {
			t.Errorf("%q became %q", word, got)
		}
	}
}
