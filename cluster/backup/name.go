package backup

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Name is what the name of a backup says. It can be compared.
type Name struct {
	Cluster   string
	Index     uint64 // of the log: the state has all that was applied up to it
	Unix      int64  // when it was made by the clock of its server, seconds
	Sum       string // of what is stored: the first 16 bytes of its SHA-256 in hexadecimal digits
	Encrypted bool   // by age
}

const (
	timeForm = "20060102T150405Z"
	sumChars = 32
	maxName  = 255
)

var (
	clusterForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,128}$`)
	nameForm    = regexp.MustCompile(
		`^vigil-([A-Za-z0-9._~-]{1,128})-([0-9]{20})-([0-9]{8}T[0-9]{6}Z)-([0-9a-f]{32})\.snap(\.age)?$`)
)

// prefix is how all names of a cluster begin, and perhaps some of others.
func prefix(cluster string) string { return "vigil-" + cluster }

// String is the name of the file or object.
func (n Name) String() string {
	text := fmt.Sprintf("%s-%020d-%s-%s.snap", prefix(n.Cluster), n.Index, n.Time().Format(timeForm), n.Sum)
	if n.Encrypted {
		text += ".age"
	}
	return text
}

// Time is when it was made, by the clock of the server that made it.
func (n Name) Time() time.Time { return time.Unix(n.Unix, 0).UTC() }

// ParseName reads a name; false: it is no name that a backup has.
func ParseName(text string) (n Name, ok bool) {
	if len(text) > maxName {
		return n, false
	}
	m := nameForm.FindStringSubmatch(text)
	if m == nil {
		return n, false
	}
	index, err := strconv.ParseUint(m[2], 10, 64)
	at, wrong := time.Parse(timeForm, m[3])
	n = Name{Cluster: m[1], Index: index, Unix: at.Unix(), Sum: m[4], Encrypted: m[5] != ""}
	return n, err == nil && wrong == nil && n.String() == text
}

// ByIndex sorts, the greatest index first: no clock has a say in it.
func ByIndex(list []Name) {
	slices.SortFunc(list, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Index, a.Index), cmp.Compare(b.Unix, a.Unix), cmp.Compare(a.String(), b.String()))
	})
}

// byTime sorts, the latest first.
func byTime(list []Name) {
	slices.SortFunc(list, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Unix, a.Unix), cmp.Compare(b.Index, a.Index), cmp.Compare(a.String(), b.String()))
	})
}
