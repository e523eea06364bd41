package main

import (
	"testing"

	"vigil/fsm/noun"
	"vigil/rpc/client"
)

// L8: clients give a write up before the cluster may forget their session.
func TestF05ClientsGiveUpBeforeTheirSessionEnds(t *testing.T) {
	if client.DefaultRetryFor > noun.RepeatLimit {
		t.Errorf("clients repeat for %s, sessions allow for %s", client.DefaultRetryFor, noun.RepeatLimit)
	}
}
