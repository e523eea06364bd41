package cluster_test

import (
	"testing"
	"testing/synctest"

	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// do sends a write and fails the test unless it is granted.
func do(t *testing.T, k *clustertest.Client, cmd fsm.Command) noun.Outcome {
	t.Helper()
	out := k.Do(cmd)
	if out.Code != noun.OK {
		t.Fatalf("%T: %s: %s", cmd, out.Code, out.Detail)
	}
	return out
}

// room makes the room r with the role builder, started by hand.
func room(t *testing.T, k *clustertest.Client) {
	t.Helper()
	do(t, k, fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "builder", Replicas: 2}}, By: "test"})
}

func TestThreeServersElectAndAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		room(t, k)
		for range 20 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
		}
		c.Agree()
	})
}
