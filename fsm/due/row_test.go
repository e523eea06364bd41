package due

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

var kind = &Kind{Name: "limit", Then: "it ends"}

func TestRowIsDueAfterHoldsSpanAndAbsence(t *testing.T) {
	const s = noun.Time(time.Second)
	for name, tc := range map[string]struct {
		row       Row
		at, since noun.Time
		ran       time.Duration
		held      string
	}{
		"no row": {Row{}, 0, 0, 20 * time.Second, ""},
		"a span": {Row{Kind: kind, From: 10 * s, Span: 5 * time.Second}, 15 * s, 10 * s,
			10 * time.Second, ""},
		"a hold that is on": {Row{Kind: kind, From: 10 * s, Span: 5 * time.Second, Hold: Hold{30 * s, "x"}},
			35 * s, 20 * s, 0, "x"},
		"a hold that is off": {Row{Kind: kind, From: 10 * s, Span: 15 * time.Second, Hold: Hold{12 * s, "x"}},
			27 * s, 12 * s, 8 * time.Second, ""},
		"absence": {Row{Kind: kind, From: 10 * s, Span: 5 * time.Second, Absent: 3 * time.Second},
			18 * s, 10 * s, 7 * time.Second, ""},
		"put off": {Row{Kind: kind, From: 10 * s, Span: 5 * time.Second, Put: Hold{40 * s, "y"}},
			40 * s, 10 * s, 10 * time.Second, "y"},
		"put off for less": {Row{Kind: kind, From: 10 * s, Span: 50 * time.Second, Put: Hold{40 * s, "y"}},
			60 * s, 10 * s, 10 * time.Second, ""},
		"an end": {Until(kind, Of{}, 30*s, 25*s), 25 * s, 25 * s, -5 * time.Second, ""},
	} {
		now := 20 * s
		if at, since, ran, held := tc.row.At(), tc.row.Since(now), tc.row.Ran(now), tc.row.Held(now).Why; at != tc.at ||
			since != tc.since || ran != tc.ran || held != tc.held {
			t.Errorf("%s: due at %d, since %d, ran for %s, held by %q; want %+v", name, at, since, ran, held, tc)
		}
		if got, want := tc.row.Due(now), tc.row.Kind != nil && tc.at <= now; got != want {
			t.Errorf("%s: due now: %v, want %v", name, got, want)
		}
	}
}

func TestListKeepsTheEarliest(t *testing.T) {
	l := List{Max: 3}
	for _, at := range []noun.Time{9, 2, 8, 1, 7, 3, 6, 4, 5} {
		l.Add(Row{Kind: kind, From: at})
		l.Add(Row{})
	}
	rows := l.Sort()
	if len(rows) != 3 || l.More != 6 || rows[0].From != 1 || rows[1].From != 2 || rows[2].From != 3 {
		t.Fatalf("%d more than %+v", l.More, rows)
	}
}
