//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A year needs no command that the guide does not name: each stands there as it is typed.
func TestGuideNamesWhatAYearNeeds(t *testing.T) {
	pages, err := filepath.Glob("../docs/guide/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages of the guide: %v", len(pages), err)
	}
	var guide strings.Builder
	for _, page := range append(pages, "../docs/operations.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		guide.Write(text)
	}
	for _, command := range yearCommands {
		form := strings.ReplaceAll(regexp.QuoteMeta("vigil "+command), `\{\}`, `\S+`)
		if !regexp.MustCompile(`(?m)\b` + form + `(?:\s|$|` + "`" + `)`).MatchString(guide.String()) {
			t.Errorf("the guide does not name `vigil %s`", command)
		}
	}
}
