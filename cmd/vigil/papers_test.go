package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func paper(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Changes that were made side by side are joined line by line: each decision keeps a number of
// its own, and no change is told twice.
func TestDecisionsAreNumberedAndChangesToldOnce(t *testing.T) {
	_, decisions, ok := strings.Cut(paper(t, "ARCHITECTURE.md"), "## Decisions\n")
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(decisions, -1) {
		if seen[m[1]] {
			t.Errorf("ARCHITECTURE.md has two decisions with the number %s", m[1])
		}
		seen[m[1]] = true
	}
	if !ok || len(seen) == 0 {
		t.Error("ARCHITECTURE.md has no decisions")
	}
	_, changes, ok := strings.Cut(paper(t, "CHANGELOG.md"), "\n## ")
	told := map[string]bool{}
	for _, item := range regexp.MustCompile(`(?m)^- `).Split(changes, -1)[1:] {
		if item = strings.TrimSpace(item); told[item] {
			t.Errorf("CHANGELOG.md tells twice: %.80s", item)
		}
		told[item] = true
	}
	if !ok || len(told) == 0 {
		t.Error("CHANGELOG.md tells of no changes")
	}
}
