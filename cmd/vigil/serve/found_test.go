package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/conf"
	"vigil/rpc/client"
	"vigil/rpc/freeport"
	"vigil/rpc/trust"
)

// firstServer is one that founds a cluster, on ports of its own.
func firstServer(t *testing.T) *conf.Server {
	t.Helper()
	addrs, err := freeport.Addrs(2)
	if err != nil {
		t.Fatal(err)
	}
	set := conf.DefaultServer()
	set.ID, set.DataDir, set.Addr, set.RaftAddr, set.LogLevel = "s1", t.TempDir(), addrs[0], addrs[1], "error"
	return set
}

// A founding that fails leaves the directory as it was, so it can be done again; of data that is adopted it takes
// nothing away, however far it came.
func TestFoundingThatFailsIsUndone(t *testing.T) {
	set := firstServer(t)
	own := filepath.Join(set.DataDir, "server.yaml")
	if err := os.WriteFile(own, []byte("# of a human\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set.HasIdentity("")
	if err := set.Check(); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the human has changed their mind")
	f := Founding{Conf: set, Admin: "ann", Dir: trust.Dir(t.TempDir())}
	err := Found(t.Context(), f, func(context.Context, *client.Client) error { return failed })
	if !errors.Is(err, failed) {
		t.Fatalf("founded: %v", err)
	}
	if left, err := names(set.DataDir); err != nil || len(left) != 1 || left[0] != "server.yaml" {
		t.Errorf("%v is left, %v", left, err)
	}
	if there, err := f.Dir.Exists(); there || err != nil {
		t.Errorf("the identity of its admin is left: %t, %v", there, err)
	}
	if err := Found(t.Context(), f, func(context.Context, *client.Client) error { return nil }); err != nil {
		t.Errorf("founded again: %v", err)
	}
}

func TestAdoptingThatFailsLosesNothing(t *testing.T) {
	set := firstServer(t)
	if err := cluster.Found(cluster.Config{ID: set.ID, RaftAddr: set.RaftAddr, DataDir: set.DataDir}); err != nil {
		t.Fatal(err)
	}
	before, err := cluster.Recover(set.DataDir, cluster.Recovering{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(set.DataDir, "snapshots")); err != nil { // as if it had never had any
		t.Fatal(err)
	}
	f := Founding{Conf: set, Admin: "ann", Adopt: true}
	undo, err := f.undoing()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.makeIdentity(trustDir(set.DataDir)); err != nil {
		t.Fatal(err)
	}
	if err := f.adopt(); err != nil {
		t.Fatal(err)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	after, err := cluster.Recover(set.DataDir, cluster.Recovering{})
	if err != nil || after.Index < before.Index || !logstore.Used(set.DataDir) {
		t.Errorf("entry %d is the last, %d was; %v", after.Index, before.Index, err)
	}
	if there, err := trustDir(set.DataDir).Exists(); there || err != nil {
		t.Errorf("an identity is left: %t, %v", there, err)
	}
}

// Founding leaves the root of another cluster alone, also where only its key is left.
func TestFoundingKeepsTheRootThatIsThere(t *testing.T) {
	set := conf.DefaultServer()
	set.ID, set.DataDir, set.Addr, set.RaftAddr = "s1", t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	f := Founding{Conf: set, Admin: "ann", Dir: trust.Dir(t.TempDir())}
	dir := trustDir(set.DataDir)
	if err := f.makeIdentity(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(string(dir), trust.LeafFiles+".key")); err != nil {
		t.Fatal(err)
	}
	before, err := dir.Get(trust.RootFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := Found(t.Context(), f, nil); err == nil || !strings.Contains(err.Error(), "root.key") {
		t.Errorf("founded a second time: %v", err)
	}
	if after, err := dir.Get(trust.RootFiles); err != nil || !after.Key.Equal(before.Key) {
		t.Errorf("the key of the root is gone (%v)", err)
	}
}
