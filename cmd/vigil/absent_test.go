package main

import (
	"encoding/json"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// N16: --json has the form of answers over HTTP: what is not there is absent, lists and counts are
// there, and a life that never was has no number.
func TestN16AbsentInJSON(t *testing.T) {
	s := newCanned(t)
	s.status = &vigilv1.StatusResponse{Leader: "s1"}
	code, out, errs := terminalRun{}.do(t, "status", "--json", "--addr", s.addr)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v, %q, %q", code, err, out, errs)
	}
	for _, name := range []string{"brake", "cluster_id", "revision"} {
		if v, there := got[name]; there {
			t.Errorf("%s is %#v, want nothing", name, v)
		}
	}
	for _, name := range []string{"servers", "warnings", "unserved"} {
		if v, list := got[name].([]any); !list || len(v) != 0 {
			t.Errorf("%s is %#v, want an empty list", name, got[name])
		}
	}
	if got["agents"] != 0.0 || got["leader"] != "s1" {
		t.Errorf("agents %#v, leader %#v", got["agents"], got["leader"])
	}
}
