package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// credentials are those of the connection; a handshake that fails is noted as why it cannot be used.
func (k *Conn) credentials(secure *tls.Config) credentials.TransportCredentials {
	if secure == nil {
		return insecure.NewCredentials()
	}
	return &noted{credentials.NewTLS(secure), k}
}

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
		why := fmt.Errorf("handshake with %s: %w", n.k.Addr, err)
		n.k.dialErr.Store(&why)
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (n *noted) Clone() credentials.TransportCredentials {
	return &noted{n.TransportCredentials.Clone(), n.k}
}
