package trust

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Kind says what a name is for.
type Kind string

// The kinds of holders of certificates.
const (
	Server Kind = "server"
	Host   Kind = "host"
	User   Kind = "user"
)

// ErrName is that of a text that is no name of a holder.
var ErrName = errors.New("not a name of the form spiffe://CLUSTER/server|host|user/ID")

// Name is who holds a certificate.
type Name struct {
	Cluster string // UUID of the cluster, in lower case
	Kind    Kind
	ID      string // id of the server, key of the host, name of the user
}

var (
	clusterForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	// idForm is what ids may consist of: no path, no query, nothing that a shell or terminal reads.
	idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$`)
)

// NewCluster gives the random id of a new cluster.
func NewCluster() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Check tells what is wrong with a name.
func (n Name) Check() error {
	switch {
	case !clusterForm.MatchString(n.Cluster):
		return fmt.Errorf("%w: %q is no UUID", ErrName, n.Cluster)
	case n.Kind != Server && n.Kind != Host && n.Kind != User:
		return fmt.Errorf("%w: %q is no kind", ErrName, n.Kind)
	case !idForm.MatchString(n.ID):
		return fmt.Errorf("%w: %q: an id has at most 128 letters, digits and . _ @ -, and begins with a letter or digit",
			ErrName, n.ID)
	}
	return nil
}

// String gives the URI.
func (n Name) String() string { return "spiffe://" + n.Cluster + "/" + string(n.Kind) + "/" + n.ID }

// Short is the name within its cluster: server/s1.
func (n Name) Short() string { return string(n.Kind) + "/" + n.ID }

// URI gives the name as it stands in a certificate.
func (n Name) URI() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: n.Cluster, Path: "/" + string(n.Kind) + "/" + n.ID}
}

// ParseName reads what String writes. The error wraps ErrName.
func ParseName(text string) (Name, error) {
	rest, ok := strings.CutPrefix(text, "spiffe://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return Name{}, ErrName
	}
	n := Name{Cluster: parts[0], Kind: Kind(parts[1]), ID: parts[2]}
	return n, n.Check()
}
