package backup

import (
	"strings"
	"testing"
)

const sum = "0123456789abcdef0123456789abcdef"

func TestNamesAreReadAsTheyAreWritten(t *testing.T) {
	for _, n := range []Name{
		{Cluster: "prod", Index: 1, Sum: sum},
		{Cluster: "a-b.c_d~2", Index: 1<<64 - 1, Unix: 1795687511, Sum: sum, Encrypted: true},
	} {
		if got, ok := ParseName(n.String()); !ok || got != n {
			t.Errorf("%s is read as %+v, %v; want %+v", n, got, ok, n)
		}
	}
}

func TestForeignNamesAreNone(t *testing.T) {
	const good = "vigil-prod-00000000000000000042-20261126T101500Z-" + sum + ".snap"
	if _, ok := ParseName(good); !ok {
		t.Fatal("the pattern of this test is no name")
	}
	for _, text := range []string{
		"", "..", "vigil-prod", good + "/", good + ".gz", good + "\n", "x" + good, "../" + good,
		strings.Replace(good, "prod", "", 1),
		strings.Replace(good, "prod", "a/b", 1),
		strings.Replace(good, "prod", "a b", 1),
		strings.Replace(good, "prod", strings.Repeat("x", 129), 1),
		strings.Replace(good, "00000000000000000042", "99999999999999999999", 1), // above 64 bits
		strings.Replace(good, "00000000000000000042", "42", 1),
		strings.Replace(good, "20261126T", "20261326T", 1), // month 13
		strings.Replace(good, "20261126T101500Z", "20261126T101500+", 1),
		strings.Replace(good, "abcdef", "ABCDEF", 1),
		strings.Repeat("vigil-", 10_000) + good,
	} {
		if n, ok := ParseName(text); ok {
			t.Errorf("%q is read as %+v", text, n)
		}
	}
}
