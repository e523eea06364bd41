package join

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/rpc/trust"
)

// A token is read as it was written, and an error never shows its secret.
func TestTokens(t *testing.T) {
	want := Token{Addrs: []string{"10.0.0.1:7420", "[fd00::1]:7420", "a.example:1"}, Pin: strings.Repeat("0a", 32), ID: 7,
		Secret: []byte("0123456789abcdef0123456789abcdef")}
	word := want.String()
	if strings.ContainsAny(word, " \n'\"$") {
		t.Errorf("a shell would not take %q as one word", word)
	}
	got, err := ParseToken(" " + word + "\n")
	if err != nil || !slices.Equal(got.Addrs, want.Addrs) || got.Pin != want.Pin || got.ID != 7 ||
		string(got.Secret) != string(want.Secret) {
		t.Errorf("read as %+v, %v", got, err)
	}
	parts := strings.Split(word, ".")
	secret := parts[4]
	for i := range parts {
		broken := slices.Clone(parts)
		broken[i] = "%"
		if _, err := ParseToken(strings.Join(broken, ".")); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("part %d broken: %v", i, err)
		}
	}
	for _, text := range []string{"", "vigil1", word[:len(word)/2], word + "." + word} {
		if _, err := ParseToken(text); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%d characters: %v", len(text), err)
		}
	}
}

// A token comes from the standard input too, and nobody's endless input is read to its end.
func TestTokenFromTheInput(t *testing.T) {
	want := Token{Addrs: []string{"10.0.0.1:7420"}, Pin: strings.Repeat("0a", 32), ID: 7,
		Secret: []byte("0123456789abcdef")}
	got, err := ReadToken(FromInput, strings.NewReader(want.String()+"\n"))
	if err != nil || got.String() != want.String() {
		t.Errorf("read as %+v, %v", got, err)
	}
	endless := strings.NewReader(strings.Repeat("x", 4*maxToken))
	if _, err := ReadToken(FromInput, endless); err == nil || endless.Len() < 2*maxToken {
		t.Errorf("%v, %d bytes are left", err, endless.Len())
	}
}

// A token knows its cluster by the root, and where that was replaced by the servers.
func TestATokenKnowsItsCluster(t *testing.T) {
	root, err := trust.NewRoot(trust.NewCluster(), time.Unix(1_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	here, there := []string{"10.0.0.1:7420", "10.0.0.2:7420"}, []string{"10.0.0.9:7420"}
	theirs := Token{Addrs: here, Pin: trust.Pin(root.Chain[0])}
	replaced := Token{Addrs: here, Pin: strings.Repeat("0a", 32)}
	for _, tt := range []struct {
		token   Token
		servers []string
		want    bool
	}{{theirs, here, true}, {theirs, there, true}, {replaced, here[1:], true},
		{replaced, there, false}, {replaced, nil, false}} {
		if got := tt.token.Knows(tt.servers, roots); got != tt.want {
			t.Errorf("token of %.8s, servers %v: %t", tt.token.Pin, tt.servers, got)
		}
	}
}
