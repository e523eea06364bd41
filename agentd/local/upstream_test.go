package local

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A server that still accepts connections and answers nothing, as a stopped one does, holds up one beat and not
// the next ones: a short lease would end before pings show it.
func TestASilentServerComesLast(t *testing.T) {
	reached := make(chan string, 10)
	end := make(chan struct{})
	server := func(name string, answers bool) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached <- name
			if !answers {
				<-end
			}
		}))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	silent, good := server("silent", false), server("good", true)
	t.Cleanup(func() { close(end) })
	for _, x := range []struct {
		path string
		next string // who gets the call after one that was given up
	}{{"/v1/work:wait", "silent"}, {"/v1/work:beat", "good"}} {
		u := newUpstream(func() []string { return []string{silent, good} }, nil)
		u.answer = 0
		call := func() (*http.Response, string) {
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agentd"+x.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if name, may := Method(req); !may {
				t.Fatalf("%s is %q, which no agent may call", x.path, name)
			}
			done := make(chan *http.Response, 1)
			go func() {
				res, _ := u.RoundTrip(req)
				done <- res
			}()
			by := <-reached
			if by == "silent" {
				giveUp()
			}
			return <-done, by
		}
		if _, by := call(); by != "silent" {
			t.Fatalf("%s: the first server was not asked first but %s", x.path, by)
		}
		res, by := call()
		if by != x.next {
			t.Errorf("%s: after a call in vain %s was asked, want %s", x.path, by, x.next)
		}
		if res != nil {
			res.Body.Close()
		}
		u.close()
	}
}
