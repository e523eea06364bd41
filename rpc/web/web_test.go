package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// most is what the page may have a browser load before anything else, in bytes as they are sent.
const most = 350 << 10

func open(t *testing.T) *Page {
	t.Helper()
	p, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Page) get(path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// Everything that the page names is there, kept for ever under a name that changes with it, and small.
func TestThePageIsWholeAndSmall(t *testing.T) {
	p := open(t)
	page := p.get("/")
	if page.Code != 200 || page.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("the page is answered with %d, %v", page.Code, page.Header())
	}
	size := 0
	for _, name := range regexp.MustCompile(`assets/[^"]+`).FindAllString(page.Body.String(), -1) {
		part := p.get("/"+name, "Accept-Encoding", "gzip")
		if part.Code != 200 || part.Header().Get("Content-Encoding") != "gzip" ||
			!strings.Contains(part.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s is answered with %d, %v", name, part.Code, part.Header())
		}
		size += part.Body.Len()
		again := p.get("/"+name, "If-None-Match", part.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s is sent again to who has it: %d", name, again.Code)
		}
	}
	whole := 0
	for path, f := range p.files {
		if !strings.HasPrefix(path, "/assets/term-") { // the terminal is loaded when somebody looks at one
			whole += len(f.packed)
		}
	}
	if size == 0 || whole > most {
		t.Errorf("the page has %d bytes at once and %d in all, at most %d are allowed", size, whole, most)
	}
}

// Whatever is answered forbids scripts and styles that are not the page's own, frames, and referrers.
func TestThePageForbidsWhatIsNotItsOwn(t *testing.T) {
	p := open(t)
	for _, path := range []string{"/", "/assets/licences.txt", "/nothing"} {
		h := p.get(path).Header()
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';",
			"frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: the policy lacks %s: %s", path, part, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if w := httptest.NewRecorder(); true {
		if p.ServeHTTP(w, httptest.NewRequest("POST", "/", nil)); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST / is answered with %d", w.Code)
		}
	}
}

// Nothing in the sources turns text into markup or code, and nothing is loaded from elsewhere.
func TestSourcesMakeNoMarkupOfText(t *testing.T) {
	files, err := filepath.Glob("src/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d sources, %v", len(files), err)
	}
	bad := regexp.MustCompile(`dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|` +
		`new Function|createContextualFragment|https?://[^w]`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := bad.Find(text); m != nil {
			t.Errorf("%s holds %q", file, m)
		}
	}
}
