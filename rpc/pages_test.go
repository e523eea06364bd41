package rpc

import (
	"net/http"
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// S6: what a web page of somebody else can make a browser send does nothing here, and nothing is
// read by a name that is pointed at this server (DNS rebinding).
func TestS06WebPagesOfOthersDoNothing(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	addr := w.nodes[0].addr
	const pause, create = "/v1/pause", "/v1/rooms/demo/tasks"
	task := `{"role":"builder","title":"x"}`
	json := map[string]string{"Content-Type": "application/json"}
	with := func(more ...string) map[string]string {
		h := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	for _, c := range []struct {
		what, method, path, body string
		head                     map[string]string
		status                   int
		code                     string
	}{
		{"a form with JSON in it", "POST", create, task, map[string]string{"Content-Type": "text/plain"},
			415, "wrong_type"},
		{"a form", "POST", create, task,
			map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "wrong_type"},
		{"a blob without a type", "POST", create, task, nil, 415, "wrong_type"},
		{"a foreign origin", "POST", create, task, with("Origin", "https://evil.example"), 403, "wrong_origin"},
		{"no origin to speak of", "POST", create, task, with("Origin", "null"), 403, "wrong_origin"},
		{"another port of the same host", "POST", create, task, with("Origin", "http://127.0.0.1:1"), 403,
			"wrong_origin"},
		{"a foreign site", "POST", create, task, with("Sec-Fetch-Site", "cross-site"), 403, "wrong_origin"},
		{"a neighbour's site", "POST", create, task, with("Sec-Fetch-Site", "same-site"), 403, "wrong_origin"},
		{"an empty body from a foreign site", "POST", pause, "",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403, "wrong_origin"},
		{"an empty body from a foreign origin", "POST", pause, "",
			map[string]string{"Origin": "https://evil.example"}, 403, "wrong_origin"},
		{"a script or an image of a foreign site", "GET", "/v1/status", "",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403, "wrong_origin"},
		{"a name that points here", "GET", "/v1/status", "", map[string]string{"Host": "evil.example:7420"},
			403, "wrong_origin"},
		{"the name and its own origin", "POST", create, task,
			with("Host", "evil.example", "Origin", "http://evil.example"), 403, "wrong_origin"},
		{"no host", "GET", "/v1/status", "", map[string]string{"Host": " "}, 403, "wrong_origin"},

		{"curl", "POST", create, task, json, 200, ""},
		{"curl with a character set", "POST", create, task,
			map[string]string{"Content-Type": "application/json; charset=utf-8"}, 200, ""},
		{"a page of this server", "POST", create, task,
			with("Origin", "http://"+addr, "Sec-Fetch-Site", "same-origin"), 200, ""},
		{"typed by a person", "GET", "/v1/status", "",
			map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200, ""},
		{"a link that a person followed", "GET", "/v1/status", "",
			map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200, ""},
		{"by localhost", "GET", "/v1/status", "", map[string]string{"Host": "LOCALHOST:7420"}, 200, ""},
		{"by an address", "GET", "/v1/status", "", map[string]string{"Host": "[::1]:7420"}, 200, ""},
		{"by a name that was told",
			"GET", "/v1/status", "", map[string]string{"Host": "Vigil.Example.org:7420"}, 200, ""},
		{"a probe", "GET", "/livez", "", map[string]string{"Host": "anything"}, 200, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			before := len(all(t, w.watch(within(t), 0, &vigilv1.WatchEventsRequest{NoFollow: true})))
			req, err := http.NewRequestWithContext(within(t), c.method, "http://"+addr+c.path,
				strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range c.head {
				req.Header.Set(k, v)
				if k == "Host" {
					req.Host = v
				}
			}
			if c.body == "" {
				req.Body, req.ContentLength = http.NoBody, 0
			}
			status, got, head := w.sent(req)
			if status != c.status || c.code != "" && got["code"] != c.code {
				t.Errorf("%d %v, want %d %s", status, got, c.status, c.code)
			}
			if head.Get("X-Content-Type-Options") != "nosniff" {
				t.Error("without nosniff")
			}
			if after := len(all(t, w.watch(within(t), 0,
				&vigilv1.WatchEventsRequest{NoFollow: true}))); status >= 400 && after != before {
				t.Error("it did something")
			}
		})
	}
}
