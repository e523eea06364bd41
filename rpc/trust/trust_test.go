package trust

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// party is a server, host or user of a test.
type party struct {
	*Holder
	key *ecdsa.PrivateKey
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// issuer makes the issuing key of a server.
func issuer(t *testing.T, root *Authority, server Name, now time.Time) *Authority {
	t.Helper()
	key := must(NewKey())(t)
	chain := must(root.Issuer(must(Request(key))(t), server, Stamp{}, now))(t)
	return &Authority{chain, key}
}

func join(t *testing.T, by *Authority, name Name, s Stamp, sans ...string) *party {
	t.Helper()
	key := must(NewKey())(t)
	chain := must(by.Leaf(must(Request(key))(t), name, s, sans))(t)
	h := NewHolder(must(NewRoots(by.Chain[len(by.Chain)-1]))(t))
	if err := h.Set(chain, key); err != nil {
		t.Fatal(err)
	}
	return &party{h, key}
}

// handshake connects two ends, and sends a byte each way, since TLS 1.3 tells a client only then that
// it was refused.
func handshake(t *testing.T, server, client *tls.Config) (atServer, atClient tls.ConnectionState, err error) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		s := tls.Server(c, server)
		if err = s.Handshake(); err == nil {
			atServer = s.ConnectionState()
			_, err = s.Write([]byte("x"))
		}
		done <- err
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err == nil {
		_, err = c.Read(make([]byte, 1))
		atClient = c.ConnectionState()
		c.Close()
	}
	return atServer, atClient, errors.Join(err, <-done)
}

// No wall clock decides between programs of vigil: each of them may be at 1970, 2038 or beyond.
func TestWallClocksDecideNothing(t *testing.T) {
	clocks := []time.Time{time.Unix(0, 0), time.Now(), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
		time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)}
	cluster := NewCluster()
	for _, atRoot := range clocks {
		root := must(NewRoot(cluster, atRoot))(t)
		for _, atIssuer := range clocks {
			by := issuer(t, root, Name{cluster, Server, "s1"}, atIssuer)
			stamp := Stamp{Clock: 5, Epoch: 2, Generation: 7}
			server := join(t, by, Name{cluster, Server, "s1"}, stamp)
			host := join(t, by, Name{cluster, Host, "h1"}, stamp)
			atServer, _, err := handshake(t, server.Server(true), host.Client(nil))
			if err != nil {
				t.Fatalf("root at %s, issuer at %s: %v", atRoot, atIssuer, err)
			}
			peer, ok := server.PeerOf(&atServer)
			if !ok || peer.Short() != "host/h1" || peer.Stamp != stamp || peer.Serial == "" {
				t.Fatalf("the server sees %+v", peer)
			}
			// Python, Node.js and browsers go by dates: a renewal needs no right clock, while the issuer had one.
			if leaf := server.cert.Leaf; !leaf.NotBefore.Equal(by.Chain[0].NotBefore) ||
				!leaf.NotAfter.Equal(by.Chain[0].NotAfter) {
				t.Fatalf("the dates of the leaf are %s to %s", leaf.NotBefore, leaf.NotAfter)
			}
		}
	}
}

// A machine whose wall clock is at 1970, at 2038 or beyond connects like any other, also with a session from before
// its clock was set, whichever end it is: certificates, keys and sessions of the others are good there.
func TestAWrongWallClockChangesNothing(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	by := issuer(t, root, Name{cluster, Server, "s1"}, now)
	server := join(t, by, Name{cluster, Server, "s1"}, Stamp{Clock: 1, Generation: 1})
	host := join(t, by, Name{cluster, Host, "h1"}, Stamp{Clock: 1, Generation: 1})
	at := func(cfg *tls.Config, clock time.Time) *tls.Config {
		cfg.Time = func() time.Time { return clock }
		return cfg
	}
	listens, dials := server.Server(true), host.Client(nil)
	for _, clock := range []time.Time{time.Unix(0, 0), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
		now.AddDate(30, 0, 0), now} {
		for _, ends := range [][2]time.Time{{clock, now}, {now, clock}, {clock, clock}} {
			atServer, atClient, err := handshake(t, at(listens, ends[0]), at(dials, ends[1]))
			if err != nil {
				t.Errorf("the server at %s, the host at %s: %v", ends[0], ends[1], err)
				continue
			}
			if p, ok := server.PeerOf(&atServer); !ok || p.Short() != "host/h1" {
				t.Errorf("the server at %s, the host at %s: the server sees %+v", ends[0], ends[1], p)
			}
			if p, ok := host.PeerOf(&atClient); !ok || p.Short() != "server/s1" {
				t.Errorf("the server at %s, the host at %s: the host sees %+v", ends[0], ends[1], p)
			}
		}
	}
}

// Who is no member of the cluster, or not what is wanted, gets no connection.
func TestStrangersAreTurnedAway(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	by := issuer(t, root, Name{cluster, Server, "s1"}, now)
	s1 := join(t, by, Name{cluster, Server, "s1"}, Stamp{})
	host := join(t, by, Name{cluster, Host, "h1"}, Stamp{})
	other := must(NewRoot(cluster, now))(t) // of the same name
	namesake := Name{cluster, Server, "s1"}
	foreign := join(t, issuer(t, other, namesake, now), namesake, Stamp{})
	elsewhere := NewCluster()
	far := must(NewRoot(elsewhere, now))(t)
	another := join(t, issuer(t, far, Name{elsewhere, Server, "s1"}, now), Name{elsewhere, Host, "h1"}, Stamp{})
	nobody := NewHolder(s1.Roots())
	is := func(id string) func(Peer) error {
		return func(p Peer) error {
			if p.ID != id {
				return errors.New("is " + p.ID + ", not " + id)
			}
			return nil
		}
	}
	for _, tt := range []struct {
		what           string
		server, client *tls.Config
		ok             bool
	}{
		{"a host", s1.Server(true), host.Client(nil), true},
		{"a server that is the one", s1.Server(true), host.Client(is("s1")), true},
		{"nobody where certificates are optional", s1.Server(false), nobody.Client(nil), true},
		{"who knows the pin", s1.Server(false), Pinned(Pin(root.Chain[0]), nil), true},
		{"nobody", s1.Server(true), nobody.Client(nil), false},
		{"a host of another root", s1.Server(false), foreign.Client(nil), false},
		{"a host of another cluster", s1.Server(false), another.Client(nil), false},
		{"a server that is another", s1.Server(true), host.Client(is("s2")), false},
		{"a host that serves", host.Server(true), s1.Client(nil), false},
		{"a server of another root", foreign.Server(false), host.Client(nil), false},
		{"who knows another pin", s1.Server(false), Pinned(Pin(other.Chain[0]), nil), false},
		{"who knows the pin, to a host", host.Server(false), Pinned(Pin(root.Chain[0]), nil), false},
	} {
		_, _, err := handshake(t, tt.server, tt.client)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}

// A holder cannot sign, and an issuer signs for its own cluster only.
func TestChainsEndWhereTheyShould(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	roots := must(NewRoots(root.Chain[0]))(t)
	by := issuer(t, root, Name{cluster, Server, "s1"}, now)
	host := join(t, by, Name{cluster, Host, "h1"}, Stamp{})
	request := must(Request(must(NewKey())(t)))(t)

	chain := must(Parse(host.cert.Certificate))(t)
	byHost := &Authority{chain, host.key}
	forged := must(byHost.Leaf(request, Name{cluster, Server, "s9"}, Stamp{}, nil))(t)
	if _, err := roots.Verify(forged); !errors.Is(err, ErrUntrusted) {
		t.Errorf("signed by a host: %v", err)
	}
	below := must(by.Issuer(request, Name{cluster, Server, "s9"}, Stamp{}, now))(t)
	deep := &Authority{below, must(NewKey())(t)}
	if leaf, err := deep.Leaf(request, Name{cluster, Server, "s9"}, Stamp{}, nil); err == nil {
		if _, err := roots.Verify(leaf); !errors.Is(err, ErrUntrusted) {
			t.Errorf("signed by an issuer of an issuer: %v", err)
		}
	}
	abroad := must(by.Leaf(request, Name{NewCluster(), Server, "s1"}, Stamp{}, nil))(t)
	if _, err := roots.Verify(abroad); !errors.Is(err, ErrUntrusted) {
		t.Errorf("of another cluster: %v", err)
	}
	if _, err := roots.Verify(root.Chain); !errors.Is(err, ErrUntrusted) {
		t.Errorf("the root as a peer: %v", err)
	}
	cut := request[:len(request)-1]
	if _, err := by.Leaf(cut, Name{cluster, Host, "h"}, Stamp{}, nil); !errors.Is(err, ErrRequest) {
		t.Errorf("a request that is cut: %v", err)
	}
}

// A certificate tells by whose key it was signed; a chain that was good is told from others of the same leaf.
func TestCertificatesNameWhoSigned(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	roots := must(NewRoots(root.Chain[0]))(t)
	key := must(NewKey())(t)
	request := must(Request(key))(t)
	old := must(root.Issuer(request, Name{cluster, Server, "s2"}, Stamp{Generation: 1}, now))(t)
	again := must(root.Issuer(request, Name{cluster, Server, "s2"}, Stamp{Generation: 4}, now))(t)
	host := Name{cluster, Host, "h1"}
	leaf := must((&Authority{old, key}).Leaf(must(Request(must(NewKey())(t)))(t), host, Stamp{Generation: 1}, nil))(t)
	for range 2 { // the second time it is remembered
		for generation, issuer := range map[uint64]*x509.Certificate{1: old[0], 4: again[0]} {
			p := must(roots.Verify([]*x509.Certificate{leaf[0], issuer, root.Chain[0]}))(t)
			if p.Issuer != (Issuer{"s2", generation}) || p.Short() != "host/h1" {
				t.Errorf("signed by %+v: %+v", p.Issuer, p)
			}
		}
		if _, err := roots.Verify([]*x509.Certificate{leaf[0], root.Chain[0]}); !errors.Is(err, ErrUntrusted) {
			t.Errorf("without who signed it: %v", err)
		}
	}
	byRoot := must(root.Leaf(must(Request(must(NewKey())(t)))(t), host, Stamp{}, nil))(t)
	if p := must(roots.Verify(byRoot))(t); p.Issuer != (Issuer{}) {
		t.Errorf("the root's own is signed by %+v", p.Issuer)
	}
	nameless := *root
	nameless.Chain = must(root.Issuer(request, Name{cluster, Host, "h1"}, Stamp{}, now))(t)
	nameless.Key = key
	byHost := must(nameless.Leaf(must(Request(must(NewKey())(t)))(t), host, Stamp{}, nil))(t)
	if _, err := roots.Verify(byHost); !errors.Is(err, ErrUntrusted) {
		t.Errorf("signed by the issuer of a host: %v", err)
	}
}

// Names hold nothing that a path, a shell or a terminal reads.
func TestNames(t *testing.T) {
	cluster := NewCluster()
	for _, n := range []Name{{cluster, Server, "s1"}, {cluster, Host, "0f3a.b_c-d"}, {cluster, User, "anna@example.org"}} {
		if got, err := ParseName(n.String()); err != nil || got != n {
			t.Errorf("%s: %v, %v", n, got, err)
		}
	}
	for _, text := range []string{"", "spiffe://", "spiffe://" + cluster, "spiffe://" + cluster + "/server",
		"https://" + cluster + "/server/s1",
		"spiffe://" + cluster + "/server/s1/x", "spiffe://" + cluster + "/nobody/s1", "spiffe://x/server/s1",
		"spiffe://" + cluster + "/server/", "spiffe://" + cluster + "/server/-a", "spiffe://" + cluster + "/server/a b",
		"spiffe://" + cluster + "/server/" + strings.Repeat("a", 129), "spiffe://" + cluster + "/server/a\x1b[31m"} {
		if n, err := ParseName(text); !errors.Is(err, ErrName) {
			t.Errorf("%q is taken as %+v, %v", text, n, err)
		}
	}
}

// What is kept is read again; what is damaged or open to others says what to do.
func TestFiles(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	by := issuer(t, root, Name{cluster, Server, "s1"}, now)
	host := join(t, by, Name{cluster, Host, "h1"}, Stamp{Clock: 3})
	d := Dir(filepath.Join(t.TempDir(), "trust"))
	if _, err := d.Holder(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an empty folder: %v", err)
	}
	leaf := &Authority{must(Parse(host.cert.Certificate))(t), host.key}
	if err := errors.Join(d.PutRoots(host.Roots()), d.Put(LeafFiles, leaf)); err != nil {
		t.Fatal(err)
	}
	back := must(d.Holder())(t)
	if self, ok := back.Self(); !ok || self.Short() != "host/h1" || self.Clock != 3 {
		t.Errorf("read back as %+v", self)
	}
	path := filepath.Join(string(d), LeafFiles+".key")
	if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %o", info.Mode().Perm())
	}
	written := now.Add(-35 * 24 * time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
	if ends := must(d.LeafEnds())(t); !ends.Equal(written.Add(Life + Grace)) {
		t.Errorf("a certificate of %v that nobody renewed ends at %v", written, ends)
	}
	later := now.Add(365 * 24 * time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if ends := must(d.LeafEnds())(t); !ends.After(leaf.Chain[0].NotAfter) || !ends.Equal(later.Add(Life+Grace)) {
		t.Errorf("a certificate of %v whose dates are over ends at %v", later, ends)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Holder(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: %v", err)
	}
	// The first is what a loss of power leaves.
	for _, text := range []string{"", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Holder(); err == nil || !strings.Contains(err.Error(), "new token") {
			t.Errorf("a key file of %d bytes: %v", len(text), err)
		}
	}
}

// A connection that is resumed is checked like a new one.
func TestResumedConnectionsAreChecked(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	by := issuer(t, root, Name{cluster, Server, "s1"}, now)
	s1 := join(t, by, Name{cluster, Server, "s1"}, Stamp{})
	host := join(t, by, Name{cluster, Host, "h1"}, Stamp{})
	server, client := s1.Server(true), host.Client(nil)
	if _, _, err := handshake(t, server, client); err != nil {
		t.Fatal(err)
	}
	atServer, atClient, err := handshake(t, server, client)
	if err != nil || !atClient.DidResume {
		t.Fatalf("resumed: %t, %v", atClient.DidResume, err)
	}
	if p, ok := s1.PeerOf(&atServer); !ok || p.Short() != "host/h1" {
		t.Errorf("a resumed connection is that of %+v", p)
	}
	s1.SetRoots(must(NewRoots(must(NewRoot(cluster, now))(t).Chain[0]))(t))
	if _, _, err := handshake(t, server, client); err == nil {
		t.Error("resumed although its root is trusted no more")
	}
}

// Who has got a new certificate shows it on the next connection, and resumes none that began by the old one.
func TestAResumedConnectionShowsTheNewestCertificate(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	by := issuer(t, must(NewRoot(cluster, now))(t), Name{cluster, Server, "s1"}, now)
	s1 := join(t, by, Name{cluster, Server, "s1"}, Stamp{})
	host := join(t, by, Name{cluster, Host, "h1"}, Stamp{})
	server, client := s1.Server(true), host.Client(nil)
	key := must(NewKey())(t)
	renewed := must(by.Leaf(must(Request(key))(t), Name{cluster, Host, "h1"}, Stamp{}, nil))(t)
	for _, next := range []bool{false, true, true} {
		if next {
			if err := host.Set(renewed, key); err != nil {
				t.Fatal(err)
			}
		}
		atServer, _, err := handshake(t, server, client)
		if err != nil {
			t.Fatal(err)
		}
		self, _ := host.Self()
		if p, ok := s1.PeerOf(&atServer); !ok || p.Serial != self.Serial {
			t.Errorf("the certificate that was shown is %s, the newest one is %s", p.Serial, self.Serial)
		}
	}
}

// A folder that lost a part of an identity is not taken for one that never had any.
func TestHalfAnIdentityIsNotNone(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	by := issuer(t, root, Name{cluster, Server, "s1"}, now)
	s1 := join(t, by, Name{cluster, Server, "s1"}, Stamp{})
	for _, lost := range [][]string{{"roots.crt"}, {"leaf.key"}, {"roots.crt", "leaf.key"}} {
		d := Dir(t.TempDir())
		if err := errors.Join(d.PutRoots(s1.Roots()), d.Put(IssuerFiles, by),
			d.Put(LeafFiles, &Authority{must(Parse(s1.cert.Certificate))(t), s1.key})); err != nil {
			t.Fatal(err)
		}
		for _, name := range lost {
			if err := os.Remove(filepath.Join(string(d), name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Holder(); err == nil || errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), "new token") {
			t.Errorf("without %s: %v", lost, err)
		}
	}
}

// Whoever asks again, also after a crash, asks for the same key until it has the certificate.
func TestTheNextKeyStaysUntilItIsCertified(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	by := issuer(t, must(NewRoot(cluster, now))(t), Name{cluster, Server, "s1"}, now)
	d := Dir(filepath.Join(t.TempDir(), "trust"))
	first := must(d.Next())(t)
	path := filepath.Join(string(d), nextFile)
	if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("it has mode %o", info.Mode().Perm())
	}
	if again := must(d.Next())(t); !again.Equal(first) {
		t.Error("the second try asks for another key")
	}
	chain := must(by.Leaf(must(Request(first))(t), Name{cluster, Host, "h1"}, Stamp{}, nil))(t)
	if err := d.Took(&Authority{chain, first}); err != nil {
		t.Fatal(err)
	}
	if leaf := must(d.Get(LeafFiles))(t); !leaf.Key.Equal(first) {
		t.Error("the leaf has another key")
	}
	second := must(d.Next())(t)
	if second.Equal(first) {
		t.Error("the next certificate would have the same key")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // what a loss of power leaves
		t.Fatal(err)
	}
	if third := must(d.Next())(t); third.Equal(second) {
		t.Error("a key came out of an empty file")
	}
}

// Who trusts only the old root, or knows its pin, trusts what its successor signs; who trusts only the new
// one does not trust what the old one signs. A root that nobody vouches for is known as one.
func TestRootIsSucceeded(t *testing.T) {
	for _, at := range []time.Time{time.Unix(0, 0), time.Now(), time.Now().AddDate(9, 0, 0)} {
		cluster := NewCluster()
		old := must(NewRoot(cluster, time.Now()))(t)
		next := must(old.Successor(at))(t)
		if vouched, err := CheckRoot(old.Chain[0], next.Chain); err != nil || !vouched {
			t.Fatalf("vouched: %v, %v", vouched, err)
		}
		s1 := Name{cluster, Server, "s1"}
		before := join(t, issuer(t, old, s1, time.Now()), s1, Stamp{})
		by := issuer(t, next, s1, at)
		key := must(NewKey())(t)
		chain := must(by.Leaf(must(Request(key))(t), s1, Stamp{Generation: 3}, nil))(t)
		after := NewHolder(must(NewRoots(old.Chain[0]))(t)) // nobody has told it of the new one
		if err := after.Set(chain, key); err != nil {
			t.Fatal(err)
		}
		if self, _ := after.Self(); self.Issuer.Server != "s1" {
			t.Errorf("%+v", self)
		}
		onlyNew := NewHolder(must(NewRoots(next.Chain[0]))(t))
		for _, tt := range []struct {
			what   string
			server *tls.Config
			client *tls.Config
			ok     bool
		}{
			{"knows the old root", after.Server(true), before.Client(nil), true},
			{"is known by the old root", before.Server(true), after.Client(nil), true},
			{"knows the old pin", after.Server(false), Pinned(Pin(old.Chain[0]), nil), true},
			{"knows the new pin", after.Server(false), Pinned(Pin(next.Chain[0]), nil), true},
			{"knows the new root", after.Server(false), onlyNew.Client(nil), true},
			{"is of the old root, which went", before.Server(false), onlyNew.Client(nil), false},
		} {
			if _, _, err := handshake(t, tt.server, tt.client); (err == nil) != tt.ok {
				t.Errorf("who %s, at %s: %v", tt.what, at, err)
			}
		}
		other := must(NewRoot(cluster, at))(t)
		if vouched, err := CheckRoot(old.Chain[0], other.Chain); err != nil || vouched {
			t.Errorf("a root of nobody is vouched for: %v, %v", vouched, err)
		}
		forged := append(other.Chain, next.Chain[1:]...)
		if vouched, err := CheckRoot(old.Chain[0], forged); err != nil || vouched {
			t.Errorf("the word for another root is taken: %v, %v", vouched, err)
		}
		far := must(NewRoot(NewCluster(), at))(t)
		if _, err := CheckRoot(old.Chain[0], far.Chain); !errors.Is(err, ErrUntrusted) {
			t.Errorf("a root of another cluster: %v", err)
		}
		leaf := []*x509.Certificate{chain[0]}
		if _, err := CheckRoot(old.Chain[0], leaf); !errors.Is(err, ErrUntrusted) {
			t.Errorf("a leaf as a root: %v", err)
		}
	}
}
