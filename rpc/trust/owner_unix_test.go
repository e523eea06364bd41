//go:build unix

package trust

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What root writes into the folder of a server belongs to the account of that server.
func TestRootWritesForTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it gives a folder to another account")
	}
	const account = 4242
	dir := t.TempDir()
	if err := os.Chown(dir, account, account); err != nil {
		t.Fatal(err)
	}
	if err := Dir(dir).Put(NextRootFiles, must(NewRoot(NewCluster(), time.Now()))(t)); err != nil {
		t.Fatal(err)
	}
	if err := Dir(dir).PromoteRoot(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, RootFiles+".key"))
	if err != nil || info.Mode().Perm() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != account {
		t.Errorf("%+v, %v", info, err)
	}
}
