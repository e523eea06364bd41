package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Pages at the door stay short enough to be read.
func TestPagesAreShort(t *testing.T) {
	for name, most := range map[string]int{"README.md": 120} {
		if n := strings.Count(readPage(t, name).text, "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d are allowed", name, n, most)
		}
	}
}

// Links within the repository lead to a file, and to a heading of it where they name one.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readPage(t, name).text, -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := name
			if file != "" {
				to = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: link %s leads nowhere", name, m[1])
			} else if heading != "" && !hasHeading(readPage(t, to).text, heading) {
				t.Errorf("%s: link %s: %s has no such heading", name, m[1], to)
			}
		}
	}
}

// hasHeading looks for a heading by the name that GitHub gives it.
func hasHeading(text, name string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(plain, " ", "-") == name {
			return true
		}
	}
	return false
}

// What is shown and not run names commands, flags and targets that exist.
func TestCommandsThatAreNotRunExist(t *testing.T) {
	vigil := filepath.Join(program(t), "vigil")
	makefile := readPage(t, "Makefile").text
	shown := regexp.MustCompile(`(?m)^(?:.*&& |.*-- )?(make|vigil) (.*?)(?:\s+#.*)?$`)
	seen := 0
	for _, name := range documents(t) {
		for _, b := range readPage(t, name).blocks {
			if b.lang != "sh" {
				continue
			}
			text := strings.ReplaceAll(b.text, "\\\n", " ")
			for _, m := range shown.FindAllStringSubmatch(text, -1) {
				seen++
				words := strings.Fields(m[2])
				if m[1] == "make" {
					if !strings.Contains(makefile, "\n"+words[0]+":") {
						t.Errorf("%s:%d: make %s is no target", name, b.line, words[0])
					}
					continue
				}
				if why := unknown(vigil, words); why != "" {
					t.Errorf("%s:%d: vigil %s: %s", name, b.line, m[2], why)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d commands were found", seen)
	}
}

// unknown says what a command line has that the program does not know.
func unknown(vigil string, words []string) string {
	var command []string
	for _, w := range words {
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w) {
			break
		}
		command = append(command, w)
	}
	help, err := exec.Command(vigil, append(command, "--help")...).CombinedOutput()
	if err != nil {
		return string(help)
	}
	for _, w := range words {
		if w == "--" {
			break
		}
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(w, "--") && !strings.Contains(string(help), flag+" ") {
			return "no flag " + flag
		}
	}
	return ""
}
