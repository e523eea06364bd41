package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A session is no certificate and becomes none: what makes or renews them is not asked in its name, however the
// path is written. All else is.
func TestSessionsMakeNoCertificates(t *testing.T) {
	sessions := NewSessions()
	cookie, half, ok := sessions.SignIn(sessions.Code("anna", nil))
	if !ok {
		t.Fatal("a link does not sign in")
	}
	asked := 0
	front := &Front{Page: open(t), Sessions: sessions, Cookie: "c", Foreign: func(*http.Request) string { return "" },
		API: func(*Session) http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ })
		}}
	for path, want := range map[string]int{"/v1/trust:renew": 403, "/v1/trust:join": 403, "/v1/trust:login": 403,
		"/v1/trust%3Arenew": 403, "/v1/tr%75st:renew": 403, "/v1/rooms/web/tasks": 200, "/v1/trust": 200} {
		asked = 0
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(HalfHeader, half)
		r.AddCookie(&http.Cookie{Name: "c", Value: cookie})
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		if w.Code != want || (asked > 0) != (want == 200) {
			t.Errorf("%s is answered with %d, and asked %d times; want %d", path, w.Code, asked, want)
		}
	}
}
