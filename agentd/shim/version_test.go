package shim

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A10: a shim starts nothing for an agentd of another build, and says why.
func TestA10ShimRefusesAnotherVersion(t *testing.T) {
	for version, want := range map[int]string{Version: "", Version + 1: "this shim reads", 0: "this shim reads"} {
		text, err := json.Marshal(Spec{Version: version, Folder: "/x", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		_, err = readSpec(strings.NewReader(string(text)))
		if got := err != nil; got != (want != "") || got && !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
