package rpc

import (
	"slices"
	"strings"
	"testing"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// S1: `vigil status` says that a cluster is insecure, and which servers other machines can reach.
func TestS01StatusNamesOpenServers(t *testing.T) {
	w := start(t, 1)
	warned := func() string {
		resp, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(resp.GetWarnings(), func(s string) bool { return strings.HasPrefix(s, "Insecure") })
		if at < 0 {
			return ""
		}
		return resp.GetWarnings()[at]
	}
	put := func(id, api, raft string) {
		if err := w.do(fsm.PutServer{ID: id, APIAddr: api, RaftAddr: raft, Version: "v0"}); err != nil {
			t.Fatal(err)
		}
	}
	put("s1", w.nodes[0].addr, "127.0.0.1:7421")
	if got := warned(); !strings.Contains(got, "vigil server init") || strings.Contains(got, "Other machines") {
		t.Errorf("nobody is reached from elsewhere, and it warns %q", got)
	}
	put("s2", "127.0.0.1:1", "10.0.0.2:7421")
	put("s3", "vigil.example.org:7420", "127.0.0.1:2")
	if got := warned(); !strings.Contains(got, "can reach s2, s3.") || strings.Contains(got, "s1") {
		t.Errorf("warns %q, want of s2 and s3", got)
	}
}
