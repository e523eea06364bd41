package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// letters are those that names of clusters have.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-"

// rightCluster tells whether the id of a cluster can be in a name.
func rightCluster(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id, letters) == ""
}

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
	clear, encrypted := strings.CutSuffix(text, ".age")
	parts := strings.Split(strings.TrimSuffix(clear, ".snap"), "-") // of the cluster's id there may be many
	if len(parts) < 5 {
		return n, false
	}
	last := parts[len(parts)-3:]
	index, err := strconv.ParseUint(last[0], 10, 64)
	at, wrong := time.Parse(timeForm, last[1])
	n = Name{Cluster: strings.Join(parts[1:len(parts)-3], "-"), Index: index, Unix: at.Unix(), Sum: last[2],
		Encrypted: encrypted}
	right := err == nil && wrong == nil && rightCluster(n.Cluster) && len(n.Sum) == sumChars &&
		strings.Trim(n.Sum, "0123456789abcdef") == ""
	return n, right && n.String() == text
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
