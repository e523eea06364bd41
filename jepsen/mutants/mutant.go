package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one way to break the product.
type Mutant struct {
	Name string // fit for the name of a test
	Law  string // of ARCHITECTURE.md, or the promise that it breaks
	Says string // what it does, in one sentence
	// Edits turn the product into the mutant.
	Edits []Edit
	// Hunt must catch it.
	Hunt Hunt
}

// Edit replaces a text that is exactly once in a file.
type Edit struct {
	File     string // below the root of the module
	Old, New string
}

// Hunt is a part of the suite.
type Hunt struct {
	// Package and Run are tests, as go test takes them.
	Package, Run string
	// Stand are the flags of jepsen run, when Package is empty.
	Stand []string
	// Root tells that it needs a stand; see package stand. Tests that do take the
	// program under test as flag -vigil, and -all for those that take long.
	Root bool
}

// String is what a person would type, without the mutant.
func (h Hunt) String() string {
	if h.Package == "" {
		return "jepsen run " + strings.Join(h.Stand, " ")
	}
	s := "go test " + h.Package + " -run '" + h.Run + "'"
	if h.Root {
		s += " -all"
	}
	return s
}

// Overlay writes the mutant into a folder and gives the file for -overlay. root is
// that of this module.
func (m Mutant) Overlay(root, folder string) (string, error) {
	texts, err := m.mutated(root)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range texts {
		to := filepath.Join(folder, fmt.Sprintf("%d-%s", len(overlay.Replace), filepath.Base(file)))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write mutant %s: %w", m.Name, err)
		}
		overlay.Replace[file] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("write mutant %s: %w", m.Name, err)
	}
	return file, nil
}

// mutated gives the changed files by their absolute path.
func (m Mutant) mutated(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, ok := texts[path]
		if !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s has this text %d times, want once; "+
				"adapt the edit to the changed line:\n%s", m.Name, e.File, n, e.Old)
		}
		texts[path] = strings.Replace(text, e.Old, e.New, 1)
	}
	return texts, nil
}
