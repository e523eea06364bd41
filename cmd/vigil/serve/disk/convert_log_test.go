package disk

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

// The log of a server gets another form, is refused as the old one, and says the command that helps.
func TestConvertLogAndTheSettingThatDiffers(t *testing.T) {
	set := cluster.Config{ID: "s1", RaftAddr: "127.0.0.1:7421", DataDir: t.TempDir(), LogStore: cluster.LogBolt}
	var out bytes.Buffer
	a := &cli.App{Terminal: term.Terminal{Out: &out, Err: &out}}
	if err := convertLog(a, set.DataDir, cluster.LogWAL); err == nil || !strings.Contains(err.Error(), "holds no data") {
		t.Errorf("an empty directory: %v", err)
	}
	if err := cluster.Found(set); err != nil {
		t.Fatal(err)
	}
	if err := convertLog(a, set.DataDir, "tape"); err == nil || !strings.Contains(err.Error(), "wal or bolt") {
		t.Errorf("a form that there is not: %v", err)
	}
	set.LogStore = cluster.LogWAL
	_, err := cluster.Open(set)
	want := "vigil server convert-log --data-dir " + set.DataDir + " --to wal"
	if !errors.Is(err, logstore.ErrOtherKind) || !strings.Contains(err.Error(), want) {
		t.Errorf("the setting differs: %v", err)
	}
	if err := convertLog(a, set.DataDir, cluster.LogWAL); err != nil ||
		!strings.Contains(out.String(), "kept as wal now") {
		t.Errorf("convert: %v, %s", err, &out)
	}
	rec, err := cluster.Recover(set.DataDir, cluster.Recovering{})
	if err != nil || rec.Index != 1 || rec.Server != "s1" {
		t.Errorf("after it: %+v, %v", rec, err)
	}
	out.Reset()
	if err := convertLog(a, set.DataDir, cluster.LogWAL); err != nil ||
		!strings.Contains(out.String(), "Nothing was changed") {
		t.Errorf("convert again: %v, %s", err, &out)
	}
}
