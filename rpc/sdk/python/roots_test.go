package python

import (
	"crypto/tls"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/rpc/trust"
)

// A program with an API token knows the root of the day when it got the token. It goes on when the root is replaced:
// the old one vouches for the new one, also by the one way that OpenSSL looks.
func TestProgramsThatKnowTheOldRootGoOn(t *testing.T) {
	old, err := trust.NewRoot(trust.NewCluster(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	next, err := old.Successor(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(old.Chain[0], next.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []*trust.Authority{old, next} { // of the day before, and of the new one
		listener, err := tls.Listen("tcp", "127.0.0.1:0", server(t, root, roots).Server(false, "http/1.1"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_ = conn.(*tls.Conn).Handshake() // the other end tells what was wrong
				_ = conn.Close()
			}
		}()
		for _, known := range []*trust.Authority{old, next} {
			if root == old && known == next {
				continue // it was made from what there is now
			}
			file := filepath.Join(t.TempDir(), "roots.crt")
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Chain[0].Raw})
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if out := python(t, "-c", `import sys
from vigil._where import Trust
from vigil._wire import connect
trust = Trust(sys.argv[1], "")
sock = connect(sys.argv[2], 10, 10, trust.context)
trust.connected(sock, sys.argv[2])
sock.close()
print("it is one of ours")`, file, listener.Addr().String()); !strings.Contains(out, "it is one of ours") {
				t.Errorf("new root %v, knows the new root %v: %s", root == next, known == next, out)
			}
		}
	}
}

// server has a certificate that an issuing key has signed which has its own from the root.
func server(t *testing.T, root *trust.Authority, roots *trust.Roots) *trust.Holder {
	t.Helper()
	name := trust.Name{Cluster: roots.Cluster, Kind: trust.Server, ID: "s1"}
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := root.Issuer(csr, name, trust.Stamp{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := (&trust.Authority{Chain: chain, Key: key}).Leaf(csr, name, trust.Stamp{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := trust.NewHolder(roots)
	if err := h.Set(leaf, key); err != nil {
		t.Fatal(err)
	}
	return h
}
