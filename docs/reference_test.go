package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vigil/cmd/vigil/term"
	"vigil/fsm/noun"
)

// update writes what is generated into the pages, in place of comparing it.
var update = flag.Bool("update", false, "write the tables of settings, keys and metrics anew")

// renew is said when a page is not as the program is.
const renew = "run `go test ./docs -run Reference -update`"

// between replaces what stands between the marks of a table; with -update in the file, too.
func between(t *testing.T, page, mark, want string) {
	t.Helper()
	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+mark+": begin -->\n", "<!-- "+mark+": end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no place for %s", page, mark)
	case have == want:
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: %s are not what the program has: %s", page, mark, renew)
	}
}

// cell is a text that may stand in a table.
func cell(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "|", "\\|") }

// The settings of the guide are those of the program.
func TestReferenceOfSettings(t *testing.T) {
	defaults := noun.DefaultSettings()
	list := defaults.Info()
	if len(list) < 80 {
		t.Fatalf("only %d settings were found", len(list))
	}
	slices.SortFunc(list, func(a, b noun.SettingInfo) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString("| Setting | Default | Range | Meaning |\n|---|---|---|---|\n")
	for _, s := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, term.Tidy(s.Default), term.Tidy(s.Range), cell(s.Help))
	}
	between(t, "docs/guide/settings.md", "settings", b.String())
}

// The keys of the guide are those of the configurations, each with its default.
func TestReferenceOfKeys(t *testing.T) {
	for file, least := range map[string]int{"server.yaml": 40, "agentd.yaml": 30,
		"agentd-runners.yaml": 25, "room.yaml": 30} {
		text, err := os.ReadFile(filepath.Join(root, "configs", file))
		if err != nil {
			t.Fatal(err)
		}
		keys := keysOf(string(text))
		if len(keys) < least {
			t.Errorf("only %d keys were found in %s", len(keys), file)
		}
		var b strings.Builder
		b.WriteString("| Key | In the file | Meaning |\n|---|---|---|\n")
		before := ""
		for _, k := range keys {
			says := k.says
			if says == before && says != "" {
				says = "As above."
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.name, k.value, says)
			before = k.says
		}
		between(t, "docs/guide/settings.md", file, b.String())
	}
}

// key is a line of a configuration with what stands above or behind it.
type key struct{ name, value, says string }

var keyLine = regexp.MustCompile(`^( *)(- )?([a-z_]+):(?: +(.*?))?(?: +# (.*))?$`)

// made are the keys beneath which people choose names of their own.
var made = regexp.MustCompile(`(^|\.)(labels|params)\.`)

// keysOf reads the keys of a configuration whose comments explain them, each once. What a comment gives as an
// example is indented, and left out.
func keysOf(text string) (keys []key) {
	var says []string
	above := map[int]string{} // names of the keys that hold this one, by their indentation
	group := ""               // what the key before this one said, which may be said of both
	fresh, seen := false, map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		plain := strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(plain, "#"); ok {
			if !fresh {
				says, fresh = nil, true
			}
			says = append(says, after)
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil || plain == "" {
			if plain == "" {
				says, group = nil, ""
			}
			fresh = false
			continue
		}
		depth := len(m[1]) + len(m[2])
		name := m[3]
		for at := range above {
			if at >= depth {
				delete(above, at)
			}
		}
		outer := 0
		for at := range above {
			outer = max(outer, at+1)
		}
		if outer > 0 {
			name = above[outer-1] + "." + name
		}
		above[depth] = name
		k := key{name: name, says: said(says)}
		if m[5] != "" {
			k.says = cell(sentence(m[5]))
		} else if !fresh && k.says == "" {
			k.says = group
		}
		if m[4] != "" {
			k.value = "`" + cell(m[4]) + "`"
		}
		group, says, fresh = k.says, nil, false
		k.name = strings.TrimPrefix(k.name, "runners.") // a runner is a file of its own, too
		if !seen[k.name] && !made.MatchString(k.name) && (k.says != "" || k.value != "") {
			keys = append(keys, k)
		}
		seen[k.name] = true
	}
	return keys
}

// said joins the lines of a comment without its examples and headings.
func said(lines []string) string {
	var kept []string
	for _, l := range lines {
		if strings.HasPrefix(l, "   ") || strings.HasPrefix(l, " ---") || strings.TrimSpace(l) == "" {
			continue
		}
		kept = append(kept, strings.TrimSpace(l))
	}
	text := strings.Join(kept, " ")
	for _, end := range []string{" For instance:", " For instance, with their defaults:"} {
		text = strings.ReplaceAll(text, end, "")
	}
	return cell(sentence(text))
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".:)") {
		text += "."
	}
	return text
}

// The glossary has every word of ARCHITECTURE.md, is sorted, and explains no word that nobody uses.
func TestReferenceOfWords(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| ([^|]+?) \| .* \|$`)
	words := func(name, heading string) (list []string) {
		_, text, ok := strings.Cut("\n"+readPage(t, name).text, "\n"+heading+"\n")
		if !ok {
			t.Fatalf("%s has no heading %s", name, heading)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			if m[1] != "Word" {
				list = append(list, strings.Split(strings.ReplaceAll(m[1], "`", ""), ", ")...)
			}
		}
		return list
	}
	glossary := words("docs/guide/glossary.md", "# Glossary")
	for _, w := range words("ARCHITECTURE.md", "## Words") {
		if !slices.Contains(glossary, w) {
			t.Errorf("docs/guide/glossary.md lacks %q, which ARCHITECTURE.md explains", w)
		}
	}
	lower := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
	var first []string
	for _, m := range row.FindAllStringSubmatch(readPage(t, "docs/guide/glossary.md").text, -1) {
		if m[1] != "Word" {
			first = append(first, m[1])
		}
	}
	if len(first) < 50 || !slices.IsSortedFunc(first, lower) {
		t.Errorf("the %d words of the glossary are not sorted", len(first))
	}
	used := ""
	for _, name := range documents(t) {
		if name != "docs/guide/glossary.md" {
			used += strings.ToLower(readPage(t, name).text)
		}
	}
	for _, w := range glossary {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.ToLower(w)) + `s?\b`).MatchString(used) {
			t.Errorf("docs/guide/glossary.md explains %q, which no other page uses", w)
		}
	}
}
