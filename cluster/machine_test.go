package cluster

import (
	"bytes"
	"io"
	"testing"

	"vigil/fsm"
)

// A snapshot that is installed tells everybody who follows the state to look again.
func TestF09InstalledSnapshotIsTold(t *testing.T) {
	cfg := &Config{ID: "s1", Features: FeatureLevel}
	met, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(cfg, fsm.New(), met, func(err error) { t.Error(err) })
	var told []fsm.Effects
	m.subs = append(m.subs, func(e fsm.Effects) {
		if m.state.LastIndex() != 7 {
			t.Error("told before the state is there")
		}
		told = append(told, e)
	})
	s := fsm.New()
	s.Apply(&fsm.Entry{Index: 7, Requests: []fsm.Request{{Cmd: fsm.ApplyRoom{Room: "r", Roles: []fsm.RoleSpec{{Name: "a"}}}}}})
	var b bytes.Buffer
	if err := s.Copy().Dump(&b); err != nil {
		t.Fatal(err)
	}
	if err := m.Restore(io.NopCloser(&b)); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !told[0].Reset || !told[0].Plan || told[0].LastEvent != s.LastEvent() {
		t.Errorf("told %+v", told)
	}
}
