package rpc

import (
	"context"
	"io"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/servers"
)

func TestS13WaitChecksTheTokenBeforeItParks(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	thief := &vigilv1.Speaker{Agent: me.GetAgent(), Incarnation: me.GetIncarnation(), Token: "of another"}
	if _, err := w.work(1).Wait(within(t), &vigilv1.WaitRequest{Speaker: thief}); codeOf(err) != "denied" {
		t.Fatalf("with the token of another: %v, want denied", err)
	}
	w.parkedAt(1, 0)
}

func TestS13WatchesAndBackupsAreCounted(t *testing.T) {
	w := start(t, 1)
	w.servers[0].watches.Most = 1
	first := w.watch(within(t), 0, &vigilv1.WatchEventsRequest{Tail: true})
	if _, err := first.Header(); err != nil {
		t.Fatal(err)
	}
	second, err := w.fleet(0).WatchEvents(within(t), &vigilv1.WatchEventsRequest{Tail: true})
	if err == nil {
		_, err = second.Recv()
	}
	if codeOf(err) != "unavailable" || !strings.Contains(err.Error(), "1 watches") {
		t.Errorf("a second watch: %v, want unavailable with the number", err)
	}

	for range servers.MaxSaves {
		if !w.servers[0].saves.Take() {
			t.Fatal("no place for a backup")
		}
	}
	save := func() error {
		s, err := w.cluster(0).SaveSnapshot(within(t), &vigilv1.SaveSnapshotRequest{})
		for err == nil {
			_, err = s.Recv()
		}
		return err
	}
	if err := save(); codeOf(err) != "unavailable" {
		t.Errorf("one backup too many: %v, want unavailable", err)
	}
	w.servers[0].saves.Give()
	for range 3 { // each gives its place back
		if err := save(); err != io.EOF {
			t.Errorf("a backup when there is a place: %v", err)
		}
	}
}

// S13: what comes before a call is bounded as the call is.
func TestS13HeadersAreBounded(t *testing.T) {
	w := start(t, 1)
	for size, refused := range map[int]bool{32 << 10: false, 128 << 10: true} {
		filler := strings.Repeat("x", size)
		ctx := metadata.AppendToOutgoingContext(within(t), "filler", filler)
		if _, err := w.cluster(0).Status(ctx, &vigilv1.StatusRequest{}); (err != nil) != refused {
			t.Errorf("a call with %d bytes of metadata: %v", size, err)
		}
		req, err := http.NewRequestWithContext(within(t), http.MethodGet, "http://"+w.nodes[0].addr+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Filler", filler)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want := map[bool]int{false: http.StatusOK,
			true: http.StatusRequestHeaderFieldsTooLarge}[refused]; resp.StatusCode != want {
			t.Errorf("a request with %d bytes of headers: %s, want %d", size, resp.Status, want)
		}
	}
}

// S13: a request is as long as its call may be, which is looked at before it is decoded.
func TestS13RequestsAreBoundedByTheirCall(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	fits := strings.Repeat("x", noun.MaxTaskText)
	if _, err := w.fleet(1).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder",
		Title: "long", Text: fits}); err != nil {
		t.Fatalf("a task with the longest text: %v", err)
	}
	long := strings.Repeat("x", 129<<10)
	for name, call := range map[string]func(i int) error{
		"Cluster/Status": func(i int) error { // knows no field: what is not known is kept when it is decoded
			r := &vigilv1.StatusRequest{}
			r.ProtoReflect().SetUnknown(append([]byte{0xfa, 0x7f, 0x80, 0x88, 0x08}, long[:128<<10]...))
			_, err := w.cluster(i).Status(within(t), r)
			return err
		},
		"Work/Leave": func(i int) error {
			_, err := w.work(i).Leave(within(t), &vigilv1.LeaveRequest{Speaker: &vigilv1.Speaker{Agent: long}})
			return err
		},
		"Work/Handoff": func(i int) error {
			_, err := w.work(i).Handoff(within(t), &vigilv1.HandoffRequest{Text: strings.Repeat(long, 9)})
			return err
		},
		"Fleet/AgentLogs": func(i int) error {
			s, err := w.fleet(i).AgentLogs(within(t), &vigilv1.AgentLogsRequest{Agent: long})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"Cluster/RestoreSnapshot": func(i int) error {
			s, err := w.cluster(i).RestoreSnapshot(within(t))
			if err != nil {
				return err
			}
			_ = s.Send(&vigilv1.RestoreSnapshotRequest{Data: []byte(strings.Repeat(long, 9))}) // the answer tells
			_, err = s.CloseAndRecv()
			return err
		},
	} {
		for i := range w.servers { // the leader, and one that would send it on
			if err := call(i); codeOf(err) != "too_large" || !strings.Contains(err.Error(), name+" takes at most") {
				t.Errorf("%s through server %d: %v, want too_large with the name of the call", name, i, err)
			}
		}
	}
}

// S13: over HTTP each call takes as much as it does over gRPC, and some more for JSON.
func TestS13BodiesAreBoundedByTheirCall(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	routes := 0
	for method, rule := range httpRules() {
		verb, path := route(rule)
		most := min(4*code.MaxRequest(method), 2<<20)
		routes++
		if testing.Short() && routes%8 != 0 { // the race detector reads bodies slowly
			continue
		}
		for _, size := range []int{most, most + 1} {
			body := "{" + strings.Repeat(" ", size-2) + "}"
			ctx, cancel := context.WithCancel(within(t))
			req, err := http.NewRequestWithContext(ctx, verb, "http://"+w.nodes[0].addr+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatalf("%s %s with %d bytes: %v", verb, path, size, err)
			}
			if tooLarge := resp.StatusCode == http.StatusRequestEntityTooLarge; tooLarge != (size > most) {
				t.Errorf("%s %s with %d bytes: %s", verb, path, size, resp.Status)
			}
			cancel() // some answers have no end
			_ = resp.Body.Close()
		}
	}
	if routes < 60 {
		t.Errorf("%d calls were tried", routes)
	}
}

// httpRules are the calls that HTTP has, by the full names of their methods.
func httpRules() iter.Seq2[string, *annotations.HttpRule] {
	return func(yield func(string, *annotations.HttpRule) bool) {
		for name, method := range methodsByName() {
			if !proto.HasExtension(method.Options(), annotations.E_Http) {
				continue
			}
			if !yield(name, proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)) {
				return
			}
		}
	}
}

// methodsByName are all methods of the API.
func methodsByName() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage("vigil.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				m := f.Services().Get(i).Methods().Get(j)
				out["/"+string(f.Services().Get(i).FullName())+"/"+string(m.Name())] = m
			}
		}
		return true
	})
	return out
}

// route is the verb of a call and a path that leads to it.
func route(r *annotations.HttpRule) (verb, path string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		verb, path = http.MethodGet, p.Get
	case *annotations.HttpRule_Put:
		verb, path = http.MethodPut, p.Put
	case *annotations.HttpRule_Post:
		verb, path = http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		verb, path = http.MethodDelete, p.Delete
	case *annotations.HttpRule_Patch:
		verb, path = http.MethodPatch, p.Patch
	}
	return verb, regexp.MustCompile(`\{[a-z_.]+\}`).ReplaceAllString(path, "77")
}
