package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is served is served below its path, too, and nowhere else; the page without its last slash leads to it, since
// it names its parts from where it is.
func TestBelow(t *testing.T) {
	h := Below("/a/vigil/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("got " + r.URL.Path))
	}))
	for path, want := range map[string]string{"/": "got /", "/v1/status": "got /v1/status", "/a/vigil/": "got /",
		"/a/vigil/v1/status": "got /v1/status", "/a/vigilant": "got /a/vigilant", "/a/": "got /a/"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/a/vigil", nil))
	if w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "/a/vigil/" {
		t.Errorf("%d to %q", w.Code, w.Header().Get("Location"))
	}
}

func TestCheckBase(t *testing.T) {
	for base, ok := range map[string]bool{"/": true, "/vigil/": true, "/a.b/c-d/": true, "": false, "vigil/": false,
		"/vigil": false, "//": false, "/../": false, "/./": false, "/a b/": false, "/<x>/": false, "/%2e/": false,
		"/" + strings.Repeat("a", 300) + "/": false} {
		if err := CheckBase(base); (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
	}
}
