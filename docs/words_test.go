package docs

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Pages at the door stay short enough to be read.
func TestPagesAreShort(t *testing.T) {
	for name, most := range map[string]int{"README.md": 120, "ARCHITECTURE.md": 150} {
		if n := strings.Count(readPage(t, name).text, "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d are allowed", name, n, most)
		}
	}
}

// Lines of code have at most 120 columns, a tab counted as one. Prose in raw strings is as long as it is shown.
func TestLinesAreShort(t *testing.T) {
	const most, prose = 120, 8 // runes of a line; words of a raw string from which on it is prose
	eachFile(t, func(path, text string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(text, "// Code generated") {
			return
		}
		told := map[int]bool{} // lines of prose
		files := token.NewFileSet()
		file := files.AddFile(path, -1, len(text))
		var words scanner.Scanner
		words.Init(file, []byte(text), nil, 0)
		for pos, kind, lit := words.Scan(); kind != token.EOF; pos, kind, lit = words.Scan() {
			if strings.HasPrefix(lit, "`") && kind == token.STRING && len(strings.Fields(lit)) >= prose {
				for i := range strings.Count(lit, "\n") + 1 {
					told[file.Line(pos)+i] = true
				}
			}
		}
		for i, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > most && !told[i+1] {
				t.Errorf("%s:%d has %d columns, at most %d are allowed", path, i+1, n, most)
			}
		}
	})
}

// Each decision has a name of its own and is short, and whoever cites one finds it.
func TestDecisionsAreShortAndFound(t *testing.T) {
	cited := regexp.MustCompile(`docs/decisions/[a-z]+\.md#([\w-]+)`)
	names := map[string]string{}
	for _, name := range documents(t) {
		if filepath.Dir(name) != "docs/decisions" || filepath.Base(name) == "README.md" {
			continue
		}
		for _, one := range strings.Split(readPage(t, name).text, "\n## ")[1:] {
			heading, body, _ := strings.Cut(one, "\n")
			if n := strings.Count(strings.Trim(body, "\n"), "\n") + 1; n > 8 {
				t.Errorf("%s: %s has %d lines, at most 8 are allowed", name, heading, n)
			}
			if other := names[heading]; other != "" {
				t.Errorf("%s and %s both have a decision called %s", name, other, heading)
			}
			names[heading] = name
		}
	}
	if len(names) < 50 {
		t.Errorf("only %d decisions were found", len(names))
	}
	eachFile(t, func(path, text string) {
		if m := regexp.MustCompile(`(?i)\bdecisions? \d+`).FindString(text); m != "" {
			t.Errorf("%s: %q: decisions have names, cite docs/decisions/FILE.md#name", path, m)
		}
		for _, m := range cited.FindAllStringSubmatch(text, -1) {
			file, _, _ := strings.Cut(m[0], "#")
			if there, err := os.ReadFile(filepath.Join(root, file)); err != nil || !hasHeading(string(there), m[1]) {
				t.Errorf("%s cites %s, which does not exist", path, m[0])
			}
		}
	})
}

// eachFile calls fn with every file that people write.
func eachFile(t *testing.T, fn func(path, text string)) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(root, func(path string, f os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if f.IsDir() && (f.Name() == ".git" || f.Name() == ".bin" || f.Name() == "bin" || f.Name() == "gen") {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".yaml", ".proto", "":
		default:
			return nil
		}
		if info, err := f.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			seen++
			fn(strings.TrimPrefix(path, root+"/"), string(text))
		}
		return err
	})
	if err != nil || seen < 500 {
		t.Errorf("looked at %d files: %v", seen, err)
	}
}

// What code and documents cite is in the repository.
func TestCitedFilesExist(t *testing.T) {
	file := regexp.MustCompile(`(?:^|[^\w-])((?:docs|configs|jepsen|cluster|fsm|rpc|agentd|cmd)/[\w./-]*\w\.(?:md|yaml|go|proto|service))\b`)
	elsewhere := regexp.MustCompile(`\b[Ss]eed[\s/]+00\d|\b` + `DESIGN\.md`)
	eachFile(t, func(path, text string) {
		if filepath.Ext(path) == ".go" { // what is no comment may name anything
			text = strings.Join(regexp.MustCompile(`(?m)//.*$`).FindAllString(text, -1), "\n")
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			name := m[1]
			_, err := os.Stat(filepath.Join(root, name))
			if _, beside := os.Stat(filepath.Join(root, filepath.Dir(path), name)); err != nil && beside != nil {
				t.Errorf("%s cites %s, which does not exist", path, name)
			}
		}
		if m := elsewhere.FindString(text); m != "" && path != "docs/words_test.go" {
			t.Errorf("%s cites %s, which is not in the repository: say the fact", path, m)
		}
	})
}

// N19: what people read counts one as one, and uses no word for two things: a host has a capacity and
// not rooms, an agent has no terminal and is not degraded by that, and who waits for a time of its own
// choice sleeps, whereas parked is what a breaker or a usage limit does.
func TestN19WordsThatMislead(t *testing.T) {
	text := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|` + "`[^`]*`")
	counted := regexp.MustCompile(`%d (?:roles|tasks|agents|mails|hosts|rooms|lives|failures)\b`)
	many := regexp.MustCompile(
		`at most|more than|, more |%d of|of %d|have %d|has %d|sent to %d|wait, the first|created %d|` +
			`are watched|hosts are called|%d servers|tasks completed|for %d`)
	misleading := regexp.MustCompile(
		`room for %d|usable snapshot|configuration is right|degraded: (?:no tmux|its runner)|` +
			`needs_input, parked|busy, parked`)
	seen := 0
	eachFile(t, func(path, code string) {
		top, _, _ := strings.Cut(path, "/")
		shown := top == "fsm" || top == "rpc" || top == "agentd" || top == "cmd" && !strings.Contains(path, "/bench/")
		if !shown || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "check") {
			return
		}
		for _, one := range text.FindAllString(code, -1) {
			seen++
			if counted.MatchString(one) && !many.MatchString(one) {
				t.Errorf("%s: %s says 1 agents: use noun.Plural", path, one)
			}
			if m := misleading.FindString(one); m != "" {
				t.Errorf("%s: %s: %q misleads", path, one, m)
			}
		}
	})
	if seen < 5000 {
		t.Errorf("only %d texts were found", seen)
	}
}

// No change is told twice: changes that were made side by side are joined line by line.
func TestChangesAreToldOnce(t *testing.T) {
	_, changes, ok := strings.Cut(readPage(t, "CHANGELOG.md").text, "\n## ")
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
	help := helps{vigil: filepath.Join(program(t), "vigil"), of: map[string]string{}}
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
				if why := help.unknown(words); why != "" {
					t.Errorf("%s:%d: vigil %s: %s", name, b.line, m[2], why)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d commands were found", seen)
	}
}

// helps is what the program says of its commands; each is asked once.
type helps struct {
	vigil string
	of    map[string]string // by the words of the command
}

// unknown says what a command line has that the program does not know.
func (h *helps) unknown(words []string) string {
	var command []string
	for _, w := range words {
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w) {
			break
		}
		command = append(command, w)
	}
	name := strings.Join(command, " ")
	help, asked := h.of[name]
	if !asked {
		out, err := exec.Command(h.vigil, append(command, "--help")...).CombinedOutput()
		if err != nil {
			return string(out)
		}
		help = string(out)
		h.of[name] = help
	}
	for _, w := range words {
		if w == "--" {
			break
		}
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(w, "--") && !strings.Contains(help, flag+" ") {
			return "no flag " + flag
		}
	}
	return ""
}
