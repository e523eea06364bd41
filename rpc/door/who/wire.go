package who

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Bounds of what a claim may say, in bytes.
const (
	maxName   = 255
	maxSerial = 128
)

// claimParts is how many words a claim has; a life may follow.
const claimParts = 8

// Encode is the claim as servers tell it to each other in a header.
func (c *Claim) Encode() string {
	s := fmt.Sprintf("%s %s %d %d %d %s %s %d", orDash(string(c.Kind)), orDash(url.PathEscape(c.Name)), c.Generation,
		c.Epoch, c.Clock, orDash(url.PathEscape(c.Serial)), orDash(url.PathEscape(c.Issuer.Server)), c.Issuer.Generation)
	if c.Life != (Life{}) {
		s += " " + c.Life.Encode()
	}
	return s
}

// Decode reads a claim of Encode.
func Decode(s string) (Claim, error) {
	bad := fmt.Errorf("claim %.80q cannot be read", s)
	parts := strings.Split(s, " ")
	if len(parts) < claimParts || len(parts) > claimParts+1 {
		return Claim{}, bad
	}
	var c Claim
	var errs [7]error
	c.Kind = Kind(fromDash(parts[0]))
	c.Name, errs[0] = url.PathUnescape(fromDash(parts[1]))
	c.Generation, errs[1] = strconv.ParseUint(parts[2], 10, 64)
	c.Epoch, errs[2] = strconv.ParseUint(parts[3], 10, 64)
	c.Clock, errs[3] = strconv.ParseInt(parts[4], 10, 64)
	c.Serial, errs[4] = url.PathUnescape(fromDash(parts[5]))
	c.Issuer.Server, errs[5] = url.PathUnescape(fromDash(parts[6]))
	c.Issuer.Generation, errs[6] = strconv.ParseUint(parts[7], 10, 64)
	for _, err := range errs {
		if err != nil {
			return Claim{}, bad
		}
	}
	if len(c.Name) > maxName || len(c.Serial) > maxSerial || len(c.Issuer.Server) > maxName {
		return Claim{}, bad
	}
	switch c.Kind {
	case Nobody, Server, Host, User, APIToken, Root:
	default: // Local would be everybody's
		return Claim{}, bad
	}
	if len(parts) > claimParts {
		life, err := ParseLife(parts[claimParts])
		if err != nil || c.Kind != Host {
			return Claim{}, bad
		}
		c.Life = life
	}
	return c, nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	if s == "-" {
		return "%2D"
	}
	return s
}

func fromDash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// Encode is the life as a header says it: room/role.2/7.
func (l *Life) Encode() string { return l.Agent + "/" + strconv.FormatUint(l.Incarnation, 10) }

// ParseLife reads a life of Encode.
func ParseLife(s string) (Life, error) {
	cut := strings.LastIndexByte(s, '/')
	if cut < 0 || len(s) > maxName || strings.Count(s, "/") != 2 || strings.ContainsAny(s, " %") {
		return Life{}, fmt.Errorf("life %.80q is not ROOM/AGENT/INCARNATION", s)
	}
	n, err := strconv.ParseUint(s[cut+1:], 10, 64)
	if err != nil || n == 0 {
		return Life{}, fmt.Errorf("life %.80q is not ROOM/AGENT/INCARNATION", s)
	}
	return Life{Agent: s[:cut], Incarnation: n}, nil
}

// TokenPrefix begins every API token: vigil-api.ID.SECRET.
const TokenPrefix = "vigil-api."

// ParseToken reads the claim of an API token, in which its secret is a hash only.
func ParseToken(token string) (Claim, bool) {
	rest, ok := strings.CutPrefix(token, TokenPrefix)
	id, secret, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || id == "" || secret == "" || len(id) > maxName || len(secret) > maxName {
		return Claim{}, false
	}
	sum := sha256.Sum256([]byte(secret))
	return Claim{Kind: APIToken, Name: id, Serial: hex.EncodeToString(sum[:])}, true
}
