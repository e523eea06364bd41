package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = ".."

// block is what stands between two fences, or in a comment for the test.
type block struct {
	line   int // of its first line
	lang   string
	text   string
	test   bool     // a comment: SHELL of the test
	needs  []string // programs, or "root"
	notRun string   // why
	beside bool     // in another terminal
	code   int      // exit code that is expected
}

// page is a document with its blocks.
type page struct {
	name   string // from the root of the repository
	text   string
	blocks []block
}

var (
	fence   = regexp.MustCompile("^```(\\w*)$")
	comment = regexp.MustCompile(`(?s)^<!-- (test|needs|not run|another terminal|exit code):?\s*(.*?)\s*-->\n`)
)

func readPage(t *testing.T, name string) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{name: name, text: string(text)}
	next := block{} // what comments have said of the next block
	rest, line := p.text, 1
	for rest != "" {
		one, _, _ := strings.Cut(rest, "\n")
		if m := comment.FindStringSubmatch(rest); m != nil {
			if m[1] == "test" {
				p.blocks = append(p.blocks, block{line: line, text: m[2], test: true})
			} else if err := next.told(m[1], m[2]); err != nil {
				t.Fatalf("%s:%d: %v", name, line, err)
			}
			rest, line = rest[len(m[0]):], line+strings.Count(m[0], "\n")
			continue
		}
		rest, line = strings.TrimPrefix(rest[len(one):], "\n"), line+1
		m := fence.FindStringSubmatch(one)
		if m == nil {
			continue
		}
		inside, after, ok := strings.Cut(rest, "\n```\n")
		if !ok {
			t.Fatalf("%s:%d: the block has no end", name, line-1)
		}
		next.line, next.lang, next.text = line, m[1], inside
		p.blocks = append(p.blocks, next)
		next = block{}
		rest, line = after, line+strings.Count(inside, "\n")+2
	}
	return p
}

// told notes what a comment says of the block after it.
func (b *block) told(what, value string) error {
	switch what {
	case "needs":
		b.needs = strings.Fields(value)
	case "not run":
		b.notRun = value
	case "another terminal":
		b.beside = true
	case "exit code":
		if _, err := fmt.Sscanf(value, "%d", &b.code); err != nil {
			return fmt.Errorf("exit code %q is no number", value)
		}
	}
	return nil
}

// documents lists every Markdown file that the repository holds.
func documents(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "configs/*/*.md", "jepsen/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found %d documents (%v)", pattern, len(found), err)
		}
		for _, name := range found {
			names = append(names, strings.TrimPrefix(name, root+"/"))
		}
	}
	return names
}

// tasks lists the pages whose commands are run.
func tasks(t *testing.T) (names []string) {
	t.Helper()
	found, err := filepath.Glob("guide/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("found %d pages of the guide (%v)", len(found), err)
	}
	names = append(names, "README.md", "docs/operations.md", "docs/overseers.md")
	for _, name := range found {
		names = append(names, "docs/"+name)
	}
	return names
}
