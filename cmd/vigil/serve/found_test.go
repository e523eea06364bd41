package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/cmd/vigil/conf"
	"vigil/rpc/trust"
)

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
