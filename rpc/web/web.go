package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets
var assets embed.FS

// policy lets the page run its own scripts and styles, speak to where it came from, and nothing else: no
// text of an agent can become a script, load something from elsewhere, or be shown in another page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are those of the files in assets, by the end of their names.
var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

// file is one file of the page, ready to be sent.
type file struct {
	plain, packed []byte
	kind, tag     string
	forEver       bool // its name changes with its content
}

// Page serves the page at / and its parts below /assets/. It may be used by any number of goroutines.
type Page struct{ files map[string]*file } // by path

// Open reads and compresses what is served.
func Open() (*Page, error) {
	p := &Page{files: map[string]*file{}}
	err := fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := pack(name, text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name == "assets/index.html" {
			name = ""
		}
		p.files["/"+name] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	return p, nil
}

func pack(name string, text []byte) (*file, error) {
	kind, ok := types[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("nothing is known of files that end with %s", path.Ext(name))
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &file{plain: text, packed: b.Bytes(), kind: kind, tag: `"` + hex.EncodeToString(sum[:8]) + `"`,
		forEver: strings.Contains(path.Base(name), "-")}, nil
}

// Has tells whether something of the page is served at a path.
func (p *Page) Has(path string) bool { return p.files[path] != nil }

// ServeHTTP implements http.Handler. What it does not have it answers with 404.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	f := p.files[r.URL.Path]
	switch {
	case f == nil:
		http.Error(w, "There is nothing here; the page is at /.", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The page can only be read.", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forEver {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the reader has gone; nobody is left to tell
	}
}
