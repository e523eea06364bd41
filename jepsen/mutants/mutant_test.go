package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every edit still fits the source that it changes, and the table is in order.
func TestMutantsFitTheSource(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^[a-z][a-z-]*[a-z]$`)
	seen := map[string]bool{}
	for _, m := range All() {
		if !name.MatchString(m.Name) || seen[m.Name] {
			t.Errorf("name %q is not fit, or there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Law == "" || m.Says == "" || len(m.Edits) == 0 || (m.Hunt.Package == "") == (len(m.Hunt.Stand) == 0) {
			t.Errorf("%s is not whole: %+v", m.Name, m)
		}
		for _, e := range m.Edits {
			if e.Old == e.New || strings.Contains(e.File, "_test.go") {
				t.Errorf("%s changes nothing of the product in %s", m.Name, e.File)
			}
		}
		if _, err := m.mutated(root); err != nil {
			t.Error(err)
		}
	}
	if len(seen) < 20 {
		t.Errorf("there are %d mutants, want 20 at least", len(seen))
	}
}

// An overlay holds the mutated text, and an edit that fits nowhere, or twice, is an error.
func TestOverlay(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.go")
	if err := os.WriteFile(file, []byte("one two two"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, want string }{{"one", "1 two two"}, {"two", ""}, {"three", ""}} {
		m := Mutant{Name: "m", Edits: []Edit{{File: "a.go", Old: c.old, New: "1"}}}
		overlay, err := m.Overlay(root, t.TempDir())
		if (err != nil) != (c.want == "") {
			t.Errorf("%q: got error %v", c.old, err)
		}
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(overlay), "0-a.go"))
		if err != nil || string(text) != c.want {
			t.Errorf("%q: got %q (%v), want %q", c.old, text, err, c.want)
		}
		if json, err := os.ReadFile(overlay); err != nil || !strings.Contains(string(json), file) {
			t.Errorf("overlay is %s (%v)", json, err)
		}
	}
}
