package join

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// tokenMark begins every token, with the version of its form.
const tokenMark = "vigil1"

// Token is what somebody needs to join. Its text is a secret until it is used up or over.
type Token struct {
	Addrs  []string // of servers, host:port
	Pin    string   // SHA-256 of the root's public key, in hex
	ID     uint64
	Secret []byte
}

// Ask makes a token by which so many servers or hosts may join, within life, over a connection of an
// admin. addrs are those of the servers that will be asked.
func Ask(
	ctx context.Context, admin *client.Client, kind trust.Kind, uses uint32, life time.Duration, addrs []string,
) (Token, error) {
	made, err := vigilv1.NewTrustClient(admin).CreateToken(ctx,
		&vigilv1.CreateTokenRequest{Role: string(kind), Uses: uses, Ttl: durationpb.New(life)})
	if err != nil {
		return Token{}, err
	}
	return Made(made, addrs)
}

// Made is the token that an answer holds, for servers at these addresses.
func Made(made *vigilv1.CreateTokenResponse, addrs []string) (Token, error) {
	roots, err := trust.Parse(made.GetAnchors().GetRoots())
	at := int(made.GetAnchors().GetIssues())
	if err != nil || at >= len(roots) {
		return Token{}, fmt.Errorf("the answer names no root (%v)", err)
	}
	return Token{Addrs: addrs, Pin: trust.Pin(roots[at]), ID: made.GetToken(), Secret: made.GetSecret()}, nil
}

var pinForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// String gives vigil1.ADDRS.PIN.ID.SECRET, which is one word for a shell.
func (t Token) String() string {
	text := base64.RawURLEncoding.EncodeToString
	return strings.Join([]string{tokenMark, text([]byte(strings.Join(t.Addrs, ","))), t.Pin,
		strconv.FormatUint(t.ID, 10), text(t.Secret)}, ".")
}

// FromInput is the argument that has a token read from the standard input, so that it is in no list of
// processes and in no history of a shell.
const FromInput = "-"

// ReadToken reads a token that was given as an argument, or from in where that is FromInput.
func ReadToken(word string, in io.Reader) (Token, error) {
	if word == FromInput {
		text, err := io.ReadAll(io.LimitReader(in, maxToken))
		if err != nil {
			return Token{}, fmt.Errorf("read the token from the standard input: %w", err)
		}
		word = string(text)
	}
	return ParseToken(word)
}

// Knows tells whether the cluster with these servers and roots is that of the token: it has its root, or,
// where that was replaced since, one of its servers.
func (t Token) Knows(servers []string, roots *trust.Roots) bool {
	if slices.ContainsFunc(servers, func(addr string) bool { return slices.Contains(t.Addrs, addr) }) {
		return true
	}
	return slices.ContainsFunc(roots.Certs, func(c *x509.Certificate) bool { return trust.Pin(c) == t.Pin })
}

// maxToken is how many bytes of the standard input are looked at.
const maxToken = 16 << 10

// ParseToken reads what String wrote. Its errors never hold what was given.
func ParseToken(word string) (t Token, err error) {
	bad := func(what string) error {
		return cli.Usagef("this is no token (%s): copy the whole line that `vigil token create` or `vigil server init` "+
			"printed, it begins with %s", what, tokenMark+".")
	}
	parts := strings.Split(strings.TrimSpace(word), ".")
	if len(parts) != 5 || parts[0] != tokenMark {
		return Token{}, bad(fmt.Sprintf("it has to have 5 parts, and has %d", len(parts)))
	}
	addrs, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Token{}, bad("its addresses cannot be read")
	}
	for _, addr := range strings.Split(string(addrs), ",") {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return Token{}, bad("its addresses cannot be read")
		}
		t.Addrs = append(t.Addrs, addr)
	}
	if t.Pin = parts[2]; !pinForm.MatchString(t.Pin) {
		return Token{}, bad("its pin cannot be read")
	}
	if t.ID, err = strconv.ParseUint(parts[3], 10, 64); err != nil || t.ID == 0 {
		return Token{}, bad("its number cannot be read")
	}
	if t.Secret, err = base64.RawURLEncoding.DecodeString(parts[4]); err != nil || len(t.Secret) == 0 {
		return Token{}, bad("its secret cannot be read")
	}
	return t, nil
}
