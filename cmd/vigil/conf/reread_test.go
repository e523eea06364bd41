package conf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigil/agentd"
)

// Runners are read again as they stand by then, inline ones too; what cannot be read is named.
func TestN10RunnersAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agentd.yaml")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := func(name string) string { return "name: " + name + "\nprogram: sh\nuser: " + account + "\n" }
	inline := func(name string) string {
		return "runners:\n  - {name: " + name + ", program: sh, user: " + account + "}\n"
	}
	names := func(o agentd.Offer) (all []string) {
		for _, r := range o.Runners {
			all = append(all, r.Name)
		}
		return all
	}
	write("agentd.yaml", inline("first"))
	write("runners.d/a.yaml", one("a"))
	f, err := ReadAgentd(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.ReadRunners(); err != nil {
		t.Fatal(err)
	}
	if got := names(f.Offer()); !slices.Equal(got, []string{"first", "a"}) {
		t.Fatalf("at the start %q", got)
	}
	write("agentd.yaml", "labels: {zone: b}\ncapacity: 7\n"+inline("second"))
	write("runners.d/b.yaml", one("b"))
	if got := f.Reread(); !slices.Equal(names(got), []string{"second", "a", "b"}) || len(got.Broken) > 0 {
		t.Errorf("again %q, broken %v", names(got), got.Broken)
	}
	for range 2 { // what a file says that cannot be read does not count
		if got := f.Reread(); got.Labels["zone"] != "b" || got.Capacity != 7 {
			t.Errorf("again: labels %v, capacity %d", got.Labels, got.Capacity)
		}
	}
	write("agentd.yaml", "runners: [\n")
	write("runners.d/a.yaml", "name: a\nprogramm: sh\n")
	got := f.Reread()
	if !slices.Equal(names(got), []string{"b"}) || len(got.Broken) != 2 ||
		got.Broken[0].File != file || got.Broken[0].Runner != "" ||
		got.Broken[1].Runner != "a" || got.Broken[1].File != filepath.Join(dir, "runners.d/a.yaml") ||
		!strings.Contains(got.Broken[1].Why, "a.yaml:2:1: ") {
		t.Errorf("%q, broken %+v", names(got), got.Broken)
	}
}
