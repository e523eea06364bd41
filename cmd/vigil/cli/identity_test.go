package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/rpc/trust"
)

// Who founds a cluster or logs in keeps the identity that a context holds in another cluster: it may be
// the only way into that one.
func TestAnIdentityIsNotReplacedByThatOfAnotherCluster(t *testing.T) {
	home := t.TempDir()
	a := &App{Getenv: func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": home, "HOME": home}[name]
	}}
	root, err := trust.NewRoot(trust.NewCluster(), time.Unix(1_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	other := func([]string, *trust.Roots) bool { return false }
	dir, err := a.NewIdentityDir("prod", "--name", other)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.PutRoots(roots); err != nil {
		t.Fatal(err)
	}
	if _, err := a.NewIdentityDir("prod", "--name", other); err != nil {
		t.Errorf("what a failed attempt has left is in the way: %v", err)
	}
	if err := dir.Put(trust.LeafFiles, root); err != nil {
		t.Fatal(err)
	}
	_, err = a.NewIdentityDir("prod", "--name", other) // its context was removed, or an earlier version has lost it
	if ExitCode(err) != ExitConflict || !strings.Contains(err.Error(), string(dir)) ||
		!strings.Contains(err.Error(), "--name") {
		t.Errorf("another cluster takes the place of an identity that no context names: %v", err)
	}
	theirs := func(servers []string, r *trust.Roots) bool { return len(servers) == 0 && r.Cluster == roots.Cluster }
	if got, err := a.NewIdentityDir("prod", "--name", theirs); err != nil || got != dir {
		t.Errorf("logging in anew where no context names the identity gives %q, %v", got, err)
	}
	if err := a.ChangeContexts(func(all *Contexts) error {
		all.Contexts["prod"] = Context{Servers: []string{"10.0.0.1:7420"}, Identity: string(dir)}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_, err = a.NewIdentityDir("prod", "--name", other)
	if err == nil || !strings.Contains(err.Error(), "--name") || !strings.Contains(err.Error(), "logout --context prod") {
		t.Errorf("another cluster takes the place: %v", err)
	}
	got, err := a.NewIdentityDir("prod", "--name", func(servers []string, r *trust.Roots) bool {
		return r.Cluster == roots.Cluster && slices.Contains(servers, "10.0.0.1:7420")
	})
	if err != nil || got != dir || filepath.Base(string(got)) != "prod" {
		t.Errorf("logging in anew gives %q, %v", got, err)
	}
}
