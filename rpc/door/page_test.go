package door

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/web"
)

// tab is one browser without a certificate at the page of a server.
type tab struct {
	t            *testing.T
	client       *http.Client
	at           string
	cookie, half string
}

func (b *tab) ask(method, path, body string) (int, map[string]any) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.at+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if b.half != "" {
		r.Header.Set(web.HalfHeader, b.half)
	}
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		if b.cookie = c.Name + "=" + c.Value; !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode {
			b.t.Errorf("the cookie is %+v", c)
		}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]any{}
	_ = json.Unmarshal(text, &got) // a page is none
	return resp.StatusCode, got
}

// A browser that has signed in at a server speaks as the person who asked for its link, with the rights of that
// person at the moment of each call, and as nobody without both secrets, after signing out and at other servers.
func TestBrowserSpeaksAsWhoAskedForItsLink(t *testing.T) {
	g := openGates(t)
	ben := who.Claim{Kind: who.User, Name: "ben"}
	g.known.give("user/ben", []who.Right{{Role: code.Operator, Room: "web"}})
	link := func() string {
		text, err := g.doors[0].OpenPage(who.With(t.Context(), &who.Principal{Claim: ben}))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, kind := range []who.Kind{who.APIToken, who.Root, who.Host, who.Server, who.Nobody} {
		_, err := g.doors[0].OpenPage(who.With(t.Context(), &who.Principal{Claim: who.Claim{Kind: kind, Name: "x"}}))
		if codeOf(err) != code.Denied {
			t.Errorf("%q gets a link: %v", kind, err)
		}
	}
	b := &tab{t: t, client: g.browser(who.Nobody, ""), at: "https://" + g.addrs[0]}
	signIn := `{"code":"` + link() + `"}`
	status, got := b.ask("POST", "/login", signIn)
	if b.half, _ = got["token"].(string); status != 200 || b.half == "" || b.cookie == "" {
		t.Fatalf("signing in is answered with %d %v", status, got)
	}
	if status, got = b.ask("GET", "/session", ""); status != 200 || got["name"] != "user/ben" || got["server"] != "s1" {
		t.Errorf("the session is %d %v", status, got)
	}
	const its, foreign = "/v1/rooms/web", "/v1/rooms/ops"
	if status, got = b.ask("GET", its, ""); got["code"] != code.Unimplemented { // it has passed the door
		t.Errorf("ben's room: %d %v", status, got)
	}
	if status, got = b.ask("GET", foreign, ""); status != 403 {
		t.Errorf("a room of others: %d %v", status, got)
	}
	if status, got = b.ask("POST", "/v1/trust:renew", `{"csr":"AA=="}`); status != 403 {
		t.Errorf("a session asks for a certificate: %d %v", status, got)
	}
	for name, x := range map[string]tab{
		"the code again":   {t: t, client: b.client, at: b.at},
		"only the cookie":  {t: t, client: b.client, at: b.at, cookie: b.cookie},
		"only the half":    {t: t, client: b.client, at: b.at, half: b.half},
		"another server":   {t: t, client: b.client, at: "https://" + g.addrs[1], cookie: b.cookie, half: b.half},
		"a cookie of none": {t: t, client: b.client, at: b.at, cookie: "vigil-server-s1=x", half: b.half},
	} {
		if status, got := x.ask("GET", its, ""); status != 401 && status != 403 {
			t.Errorf("%s: %d %v", name, status, got)
		}
		if status, _ := x.ask("POST", "/login", signIn); status != 401 {
			t.Errorf("%s: the link signs in twice: %d", name, status)
		}
	}
	g.known.give("user/ben", []who.Right{{Role: code.Operator, Room: "ops"}})
	if status, got = b.ask("GET", its, ""); status != 403 {
		t.Errorf("without the right: %d %v", status, got)
	}
	g.known.give("user/ben", []who.Right{{Role: code.Operator, Room: "web"}})
	if status, _ = b.ask("POST", "/logout", "{}"); status != 200 {
		t.Errorf("signing out is answered with %d", status)
	}
	b.cookie = "vigil-server-s1=gone"
	if status, got = b.ask("GET", its, ""); status != 401 {
		t.Errorf("after signing out: %d %v", status, got)
	}
}
