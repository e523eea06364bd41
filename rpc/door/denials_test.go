package door

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
)

// Whoever is refused again and again fills no file and hides nobody else; what was left out of a
// caller is said.
func TestDenialsAreBoundedByCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := newDenials(&out)
		caller := func(kind who.Kind, name string) *who.Principal {
			return &who.Principal{Claim: who.Claim{Kind: kind, Name: name}}
		}
		no := fault.New(code.Denied, "no.")
		for range 500 {
			d.note("Fleet/GetTask", caller(who.User, "eve"), "10.0.0.9:1", no)
			d.note("Fleet/GetTask", caller(who.Nobody, ""), "10.0.0.8:1", no)
		}
		d.note("Fleet/GetTask", caller(who.User, "anna"), "10.0.0.7:1", no)
		d.note("Fleet/GetTask", caller(who.Nobody, ""), "10.0.0.6:1", no)
		text := out.String()
		if n := strings.Count(text, "user/eve"); n != ownBurst {
			t.Errorf("%d lines about eve, want %d", n, ownBurst)
		}
		if !strings.Contains(text, "user/anna") || !strings.Contains(text, "10.0.0.6") {
			t.Errorf("the flood has hidden somebody else: %s", text)
		}
		time.Sleep(time.Hour)
		out.Reset()
		d.note("Fleet/GetTask", caller(who.User, "anna"), "10.0.0.7:1", no)
		left := map[string]uint64{}
		for line := range strings.Lines(out.String()) {
			var l denial
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			left[l.Who] = l.Skipped
		}
		if left["user/eve"] != 500-ownBurst || left["a caller without an identity from 10.0.0.8"] != 500-ownBurst ||
			len(d.of) != 1 {
			t.Errorf("left out is %v; %d callers are remembered", left, len(d.of))
		}
		out.Reset()
		for i := range 5 * maxDenied { // names that somebody makes up
			d.note("Fleet/GetTask", caller(who.APIToken, fmt.Sprint(i)), "10.0.0.9:1", no)
		}
		if n := strings.Count(out.String(), "\n"); n > denialBurst || len(d.of) > maxDenied {
			t.Errorf("%d lines, %d callers are remembered", n, len(d.of))
		}
	})
}
