package backup

import (
	"slices"
	"testing"
	"time"
)

// at is the backup of index i, made i hours after the epoch of these tests.
func at(i int) Name {
	return Name{Cluster: "prod", Index: uint64(i), Unix: 1_800_000_000 + int64(i)*3600, Sum: sum}
}

// far is by how much a clock leaps here.
const far = 1e9 * time.Second

// leapt is the backup of a server whose clock has leapt so far ahead.
func leapt(i int) Name {
	n := at(i)
	n.Unix += int64(far / time.Second)
	return n
}

func upTo(n int) (list []Name) {
	for i := 1; i <= n; i++ {
		list = append(list, at(i))
	}
	return list
}

func TestRetentionDeletesWhatIsOldByIndexAndTime(t *testing.T) {
	of := func(n Name, change func(*Name)) Name { change(&n); return n }
	for _, tt := range []struct {
		name    string
		list    []Name
		last    Name
		keep    int
		keepFor time.Duration
		ahead   time.Duration // of the clock
		bad     map[Name]bool
		want    []uint64
	}{
		{name: "fewer than are kept", list: upTo(3), last: at(3), keep: 3},
		{name: "the oldest go", list: upTo(5), last: at(5), keep: 2, want: []uint64{3, 2, 1}},
		{name: "young ones stay beyond the number", list: upTo(10), last: at(10), keep: 1,
			keepFor: 3*time.Hour + time.Minute, want: []uint64{6, 5, 4, 3, 2, 1}},
		{name: "a clock that leapt makes none older than the others say",
			list: append(upTo(10), leapt(11)), last: leapt(11), keep: 1, keepFor: 5 * time.Hour, ahead: far + time.Hour,
			want: []uint64{7, 6, 5, 4, 3, 2, 1}},
		{name: "nor with the second backup that it makes",
			list: append(upTo(10), leapt(11), leapt(12)), last: leapt(12), keep: 1, keepFor: 5 * time.Hour,
			ahead: far + 2*time.Hour, want: []uint64{8, 7, 6, 5, 4, 3, 2, 1}},
		{name: "nor to make room for the first one", list: upTo(10), last: at(10), keep: 1, keepFor: 5 * time.Hour,
			ahead: far, want: []uint64{7, 6, 5, 4, 3, 2, 1}},
		{name: "damaged ones do not count", list: upTo(5), last: at(5), keep: 2,
			bad: map[Name]bool{at(4): true}, want: []uint64{2, 1}},
		{name: "the last one stays though its clock is far behind",
			list: append(upTo(3), of(at(4), func(n *Name) { n.Unix = 1 })),
			last: of(at(4), func(n *Name) { n.Unix = 1 }), keep: 1},
		{name: "a clock that jumped ahead takes nothing away from what was made before",
			list: append(upTo(3), of(at(4), func(n *Name) { n.Unix += 1e8 })),
			last: of(at(4), func(n *Name) { n.Unix += 1e8 }), keep: 3, keepFor: time.Hour, want: []uint64{1}},
		{name: "forged indices and times do not count",
			list: append(upTo(3), of(at(9), func(n *Name) { n.Index = 1 << 63 }),
				of(at(9), func(n *Name) { n.Index = 1<<63 + 1 })),
			last: at(3), keep: 2, want: []uint64{1}},
		{name: "a cluster that began anew under its name keeps the old ones",
			list: append(upTo(4)[1:], of(at(9), func(n *Name) { n.Index = 1 })),
			last: of(at(9), func(n *Name) { n.Index = 1 }), keep: 1},
		{name: "other clusters are left alone",
			list: append(upTo(2), of(at(1), func(n *Name) { n.Cluster = "prod-2" })), last: at(2), keep: 1, want: []uint64{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []uint64
			stay := retention{tt.keep, tt.keepFor, 2 * time.Hour}
			for _, n := range stay.outdated(tt.list, tt.last, at(10).Time().Add(tt.ahead), tt.bad) {
				if n == tt.last || n.Cluster != "prod" {
					t.Errorf("deletes %s", n)
				}
				got = append(got, n.Index)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("deletes %v, want %v", got, tt.want)
			}
		})
	}
}
