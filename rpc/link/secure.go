package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// credentials are those of the connection; a handshake that fails is noted as why it cannot be used.
func (k *Conn) credentials(secure *tls.Config) credentials.TransportCredentials {
	if secure == nil {
		return &clear{insecure.NewCredentials(), k}
	}
	return &noted{credentials.NewTLS(secure), k}
}

// Why nobody can be spoken to at an address at which a server listens.
var (
	ErrSpeaksTLS   = errors.New("this server speaks TLS, and was called in clear")
	ErrSpeaksClear = errors.New("this server speaks in clear, and was called by TLS")
)

// clear are credentials of connections in clear that note when the other end speaks TLS.
type clear struct {
	credentials.TransportCredentials
	k *Conn
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *clear) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	return c.TransportCredentials.ClientHandshake(ctx, authority, &listening{Conn: raw, k: c.k})
}

// Clone implements credentials.TransportCredentials.
func (c *clear) Clone() credentials.TransportCredentials {
	return &clear{c.TransportCredentials.Clone(), c.k}
}

// listening looks at the first bytes of an answer: a port that speaks TLS answers the beginning of gRPC in
// clear by HTTP/1 (package door, and most others), or by an alert of TLS.
type listening struct {
	net.Conn
	k    *Conn
	past bool // something was read; only the one goroutine that reads looks
}

func (l *listening) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 && !l.past {
		l.past = true
		if bytes.HasPrefix(p[:n], []byte("HTTP/1.")) || bytes.HasPrefix(p[:n], []byte{tlsAlert, 3}) {
			why := fmt.Errorf("%s: %w", l.k.Addr, ErrSpeaksTLS)
			l.k.dialErr.Store(&why)
		}
	}
	return n, err
}

// tlsAlert is the first byte of an alert; the version is behind it.
const tlsAlert = 0x15

// noted are credentials that note why a handshake fails.
type noted struct {
	credentials.TransportCredentials
	k *Conn
}

// ClientHandshake implements credentials.TransportCredentials.
func (n *noted) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		if errors.As(err, new(tls.RecordHeaderError)) {
			err = ErrSpeaksClear
		}
		why := fmt.Errorf("handshake with %s: %w", n.k.Addr, err)
		n.k.dialErr.Store(&why)
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (n *noted) Clone() credentials.TransportCredentials {
	return &noted{n.TransportCredentials.Clone(), n.k}
}
