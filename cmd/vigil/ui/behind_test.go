package ui

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// Behind a proxy the page works at the address that browsers see, whether the proxy passes paths and names on or
// not: its parts are found, a link signs in, an order is carried out, and other pages get nothing done.
func TestPageBehindAProxy(t *testing.T) {
	for name, rewrite := range map[string]func(*httputil.ProxyRequest, *url.URL){
		"passes all on": func(r *httputil.ProxyRequest, to *url.URL) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		"strips the path": func(r *httputil.ProxyRequest, to *url.URL) {
			r.Out.URL.Path = "/" + strings.TrimPrefix(r.In.URL.Path, "/team/vigil/")
			r.SetURL(to)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Listen(0, true)
			if err != nil {
				t.Fatal(err)
			}
			to := &url.URL{Scheme: "http", Host: l.Addr().String()}
			proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { rewrite(r, to) }})
			defer proxy.Close()
			at, err := pageURL(proxy.URL + "/team/vigil/")
			if err != nil {
				t.Fatal(err)
			}
			f := &fleet{}
			s, err := Open(Config{Listener: l, Conn: f, At: at, Self: "user/anna", Cluster: "test"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			defer func() {
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			b := &behind{t: t, origin: proxy.URL}
			if status, text, _ := b.ask("GET", at.String(), ""); status != 200 || !strings.Contains(text, `src="assets/app-`) {
				t.Fatalf("the page: %d %.200s", status, text)
			}
			part := at.String() + "assets/licences.txt"
			if status, _, _ := b.ask("GET", part, ""); status != 200 {
				t.Errorf("a part of it: %d", status)
			}
			link := s.Link()
			code, ok := strings.CutPrefix(link, at.String()+"#code=")
			if !ok {
				t.Fatalf("the link is %s", link)
			}
			status, text, cookie := b.ask("POST", at.String()+"login", `{"code":"`+code+`"}`)
			if status != 200 || cookie == nil || cookie.Path != "/team/vigil/" || !cookie.HttpOnly || cookie.Secure {
				t.Fatalf("signing in: %d %s, %+v", status, text, cookie)
			}
			b.cookie, b.half = cookie, strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), `{"token":`), `"}`)
			if status, text, _ := b.ask("POST", at.String()+strings.TrimPrefix(restart, "/"), `{}`); status != 409 ||
				!strings.Contains(text, "Somebody was first.") {
				t.Errorf("an order: %d %s", status, text)
			}
			b.origin = "https://evil.example"
			if status, _, _ := b.ask("POST", at.String()+strings.TrimPrefix(restart, "/"), `{}`); status != 403 {
				t.Errorf("an order of another page: %d", status)
			}
			if len(f.asked) != 1 {
				t.Errorf("the cluster was asked %v", f.asked)
			}
		})
	}
}

// behind is a browser that sees a page through a proxy.
type behind struct {
	t            *testing.T
	origin, half string
	cookie       *http.Cookie
}

func (b *behind) ask(method, url, body string) (int, string, *http.Cookie) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", b.origin)
	r.Header.Set("Vigil-Page", b.half)
	if b.cookie != nil {
		r.AddCookie(&http.Cookie{Name: b.cookie.Name, Value: b.cookie.Value})
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		return resp.StatusCode, string(text), c
	}
	return resp.StatusCode, string(text), nil
}

// What is no address of a page is refused.
func TestPageURL(t *testing.T) {
	for at, ok := range map[string]bool{"https://example.org/vigil/": true, "http://example.org/": true,
		"https://example.org/vigil": false, "ftp://example.org/": false, "/vigil/": false, "https://example.org": false,
		"https://example.org/a/../b/": false, "https://a:b@example.org/": false, "https://example.org/?x=/": false,
		"https://example.org/%3cx%3e/": false, "https://example.org/a//": false} {
		if _, err := pageURL(at); (err == nil) != ok {
			t.Errorf("%s: %v", at, err)
		}
	}
}
