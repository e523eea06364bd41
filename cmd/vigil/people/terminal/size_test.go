package terminal

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/code"
)

// Whoever has the terminal gives it the size of theirs, within what the API takes, again when that changes and with
// a new turn; whoever looks on does not, and who cannot, as with an older server, types all the same.
func TestAttachResizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.shows("hello")
		var mu sync.Mutex
		columns, rows := 100, 30
		window := func(c, r int) {
			mu.Lock()
			columns, rows = c, r
			mu.Unlock()
			time.Sleep(2 * lookEvery)
			synctest.Wait()
		}
		sized := func(s *seat) {
			s.size = func() (int, int) { mu.Lock(); defer mu.Unlock(); return columns, rows }
		}
		p := sitDown(t, d, sized)
		window(100, 30)
		window(3000, 2)
		time.Sleep(2 * time.Minute)
		d.with(func() { d.typist = nil })
		window(90, 40) // nobody has the terminal
		p.press(t, "x")
		d.with(func() { d.away = &client.Error{Code: code.Invalid, Message: "keys has 0 bytes; send 1 to 4096."} })
		window(91, 40)
		d.with(func() { d.away = nil })
		p.press(t, "y")
		if s := p.sees(); strings.Contains(s, "0 bytes") {
			t.Errorf("one sees %q", s)
		}
		p.press(t, "\x1d")
		<-p.end
		if got := strings.Join(d.sizes, ", "); got != "1: 100x29, 1: 500x5, 2: 90x39" {
			t.Errorf("the terminal got the sizes %s", got)
		}
		if got := strings.Join(d.typed, ", "); got != "2.1 x, 2.3 y" {
			t.Errorf("typed %q", got)
		}
		d.with(func() { d.sizes = nil })
		d.shows("hello")
		p = sitDown(t, d, func(s *seat) { sized(s); s.readOnly = true })
		window(70, 20)
		p.press(t, "\x1d")
		if <-p.end; d.sizes != nil {
			t.Errorf("whoever looks on resized it: %q", d.sizes)
		}
	})
}
