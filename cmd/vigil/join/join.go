package join

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"fmt"
	"sync/atomic"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Enter uses a token for a name and keeps in dir what it got. It asks no server that has not proved
// to know the key of the root that the token names. addresses are those of a server, for browsers and
// tools. An identity that dir holds in another cluster stays, and the token is not used up.
func Enter(ctx context.Context, t Token, kind trust.Kind, name string, addresses []string, dir trust.Dir) error {
	var root atomic.Pointer[trust.Roots]
	conn, err := client.Open(client.Config{Addrs: t.Addrs, Name: "joins as " + string(kind) + "/" + name,
		TLS: trust.Pinned(t.Pin, func(r *trust.Roots) { root.Store(r) })})
	if err != nil {
		return err
	}
	defer conn.Close()
	service := vigilv1.NewTrustClient(conn)
	if err := vacant(ctx, service, &root, dir); err != nil {
		return err
	}
	key, csr, err := ask(dir)
	if err != nil {
		return err
	}
	var cert *vigilv1.Certificate
	if kind == trust.User {
		cert, err = service.Login(ctx, &vigilv1.LoginRequest{Token: t.ID, Secret: t.Secret, Csr: csr, User: name})
	} else {
		cert, err = service.Join(ctx, &vigilv1.JoinTrustRequest{Token: t.ID, Secret: t.Secret, Csr: csr,
			Kind: string(kind), Name: name, Addresses: addresses})
	}
	if err != nil {
		return err
	}
	roots := root.Load()
	if roots == nil {
		return fmt.Errorf("%w: no server has shown its root", trust.ErrUntrusted)
	}
	return keep(cert, key, trust.NewHolder(roots), dir)
}

// vacant refuses to take the place of an identity in another cluster: its key may be the only way into that one.
// Which cluster the token is for is known only once one of its servers has proved it, so one is asked for what
// everybody may see.
func vacant(ctx context.Context, service vigilv1.TrustClient, root *atomic.Pointer[trust.Roots], dir trust.Dir) error {
	if there, err := dir.Exists(); err != nil || !there {
		return err
	}
	had, err := dir.Roots()
	if err != nil {
		return fmt.Errorf("%s holds an identity, and of which cluster cannot be told: %w", dir, err)
	}
	_, err = service.GetTrust(ctx, &vigilv1.GetTrustRequest{})
	switch roots := root.Load(); {
	case roots == nil:
		return cmp.Or(err, fmt.Errorf("%w: no server has shown its root", trust.ErrUntrusted))
	case roots.Cluster != had.Cluster:
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("%s holds an identity in another cluster, perhaps the only way "+
			"into it: where that is lost, give it up (people: vigil logout) or move that folder to a safe place; else name "+
			"another place for this one (people: vigil login --name NAME)", dir))
	}
	return nil
}

// Renew gets the next certificate for whoever holds one from the servers of conn, and keeps it in dir. It
// is asked for over a connection of its own: one that has lived through an earlier renewal shows the
// certificate before that, and the cluster would take this machine for the copy of another.
func Renew(ctx context.Context, conn *client.Client, h *trust.Holder, addresses []string, dir trust.Dir) error {
	key, csr, err := ask(dir)
	if err != nil {
		return err
	}
	fresh, err := conn.Anew()
	if err != nil {
		return err
	}
	defer fresh.Close()
	cert, err := vigilv1.NewTrustClient(fresh).Renew(ctx, &vigilv1.RenewTrustRequest{Csr: csr, Addresses: addresses})
	if err != nil {
		return err
	}
	return keep(cert, key, h, dir)
}

// ask makes the request for the next certificate. Its key is on the disk before: when the answer is lost,
// or this process is, the same one is asked for again.
func ask(dir trust.Dir) (*ecdsa.PrivateKey, []byte, error) {
	key, err := dir.Next()
	if err != nil {
		return nil, nil, err
	}
	csr, err := trust.Request(key)
	return key, csr, err
}

// keep puts a certificate on the disk, then into use.
func keep(cert *vigilv1.Certificate, key *ecdsa.PrivateKey, h *trust.Holder, dir trust.Dir) error {
	chain, err := trust.Parse(cert.GetChain())
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	if anchors, err := trust.Parse(cert.GetAnchors().GetRoots()); err == nil && len(anchors) > 0 {
		if roots, err := trust.NewRoots(anchors...); err == nil && roots.Cluster == h.Roots().Cluster {
			if _, err := h.Roots().Verify(chain); err != nil {
				return fmt.Errorf("check the certificate: %w", err)
			}
			h.SetRoots(roots)
		}
	}
	got, err := h.Roots().Verify(chain)
	if err != nil {
		return fmt.Errorf("check the certificate: %w", err)
	}
	if self, ok := h.Self(); ok && got.Name != self.Name {
		return fmt.Errorf("the answer is a certificate of %s, and this is %s: nothing was changed", got.Short(), self.Short())
	}
	if err := dir.PutRoots(h.Roots()); err != nil {
		return err
	}
	if err := dir.Took(&trust.Authority{Chain: chain, Key: key}); err != nil {
		return err
	}
	return h.Set(chain, key)
}
