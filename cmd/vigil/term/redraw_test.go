package term

import (
	"strings"
	"testing"
	"time"
)

// In a pipe a table comes again when something else is in it, and not since time has passed.
func TestPipesGetWhatHasChanged(t *testing.T) {
	var out strings.Builder
	a := &Terminal{Out: &out, Now: time.Now}
	r := a.Redraw(func(string) string { return "" })
	for _, text := range []string{
		"AGENT   UP  SEEN\nweb/a   9s  just now\n",
		"AGENT       UP  SEEN\nweb/a   1m 10s  2s ago\n",
		"AGENT       UP  SEEN\nweb/a   1m 11s  3s ago\nweb/b       5s  just now\n",
		"AGENT       UP  SEEN\nweb/a   3h 11m  3s ago\nweb/b      53m  350ms ago\n",
		"AGENT       UP  SEEN\nweb/a   3h 11m  3s ago\nweb/c      53m  just now\n",
	} {
		if err := r.Show([]byte(text), "this is for terminals"); err != nil {
			t.Fatal(err)
		}
	}
	r.End()
	want := "AGENT   UP  SEEN\nweb/a   9s  just now\n\n" +
		"AGENT       UP  SEEN\nweb/a   1m 11s  3s ago\nweb/b       5s  just now\n\n" +
		"AGENT       UP  SEEN\nweb/a   3h 11m  3s ago\nweb/c      53m  just now\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
