package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

const testCluster = "0b6f0a3e-8f0e-4c5b-9a53-0f5f6f3f2a11"

// testSigner signs with a root, as a server does with its issuing key.
type testSigner struct{ *trust.Authority }

func (s testSigner) Sign(csr []byte, n trust.Name, st trust.Stamp, sans []string) ([]*x509.Certificate, error) {
	return s.Leaf(csr, n, st, sans)
}

func (s testSigner) SignIssuer([]byte, trust.Name, trust.Stamp) ([]*x509.Certificate, error) {
	return nil, trust.ErrNoRoot
}

// trusting is a cluster of servers with identities, led by the first one.
func trusting(t *testing.T, n int) (*world, *trust.Roots) {
	t.Helper()
	root, err := trust.NewRoot(testCluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := root.Issuer(csr, trust.Name{Cluster: testCluster, Kind: trust.Server, ID: "s1"},
		trust.Stamp{Generation: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := startWith(t, n, nil, testSigner{&trust.Authority{Chain: issuer, Key: key}})
	for _, cmd := range []fsm.Command{fsm.RaiseLevel{Level: fsm.NewestLevel}, fsm.FoundTrust{Cluster: testCluster,
		Roots: []fsm.Root{{Cert: root.Chain[0].Raw}}, Server: "s1", Serial: "1", Admin: "ann"}} {
		if err := w.do(cmd); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	return w, roots
}

func (w *world) trust(i int) vigilv1.TrustClient { return vigilv1.NewTrustClient(w.conns[i]) }

// certRequest makes a key and the request for it.
func certRequest(t *testing.T) []byte {
	t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	return csr
}

// verified reads a certificate as its holder does.
func verified(t *testing.T, roots *trust.Roots, c *vigilv1.Certificate) trust.Peer {
	t.Helper()
	chain, err := trust.Parse(c.GetChain())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := roots.Verify(chain)
	if err != nil {
		t.Fatal(err)
	}
	if peer.Serial != c.GetSerial() || peer.Generation != c.GetGeneration() || peer.Cluster != testCluster {
		t.Errorf("the certificate is %+v, the answer says %s, generation %d", peer, c.GetSerial(), c.GetGeneration())
	}
	return peer
}

func (w *world) token(t *testing.T, role, name string) *vigilv1.CreateTokenResponse {
	t.Helper()
	token, err := w.trust(0).CreateToken(within(t), &vigilv1.CreateTokenRequest{Role: role, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A host joins by a token through a follower, renews, gets a lost answer again, and is told from its clone;
// when it is revoked it renews no more.
func TestTrustAHostJoinsAndRenews(t *testing.T) {
	w, roots := trusting(t, 2)
	w.advance(time.Hour)
	token := w.token(t, "host", "")
	join := &vigilv1.JoinTrustRequest{Token: token.GetToken(), Secret: token.GetSecret(), Csr: certRequest(t),
		Kind: "host", Name: "h1"}
	first, err := w.trust(1).Join(within(t), join)
	if err != nil {
		t.Fatal(err)
	}
	peer := verified(t, roots, first)
	if peer.Short() != "host/h1" || peer.Generation != 1 || peer.Clock != int64(time.Hour) ||
		first.GetAnchors().GetCluster() != testCluster || len(first.GetAnchors().GetRoots()) != 1 {
		t.Errorf("joined as %+v with %+v", peer, first.GetAnchors())
	}
	again, err := w.trust(0).Join(within(t), join) // the answer was lost
	if err != nil {
		t.Fatal(err)
	}
	peer = verified(t, roots, again)
	for name, change := range map[string]func(*vigilv1.JoinTrustRequest){
		"denied: used up":     func(r *vigilv1.JoinTrustRequest) { r.Name = "h2" },
		"denied: There is no": func(r *vigilv1.JoinTrustRequest) { r.Secret = []byte("guess") },
		"conflict: has an":    func(r *vigilv1.JoinTrustRequest) { r.Token, r.Secret = w.another(t) },
		"invalid: csr":        func(r *vigilv1.JoinTrustRequest) { r.Csr = []byte("no request") },
		"invalid: kind is":    func(r *vigilv1.JoinTrustRequest) { r.Kind = "user" },
		"invalid: addresses ": func(r *vigilv1.JoinTrustRequest) { r.Addresses = []string{"a\nb"} },
	} {
		code, words, _ := strings.Cut(name, ": ")
		r := &vigilv1.JoinTrustRequest{Token: join.Token, Secret: join.Secret, Csr: certRequest(t), Kind: "host",
			Name: "h1"}
		change(r)
		_, err := w.trust(1).Join(within(t), r)
		if codeOf(err) != code || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%s: %v", name, err)
		}
	}

	written := func() uint64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.index
	}
	was := written()
	for range 3 {
		if _, err := w.trust(1).Join(within(t), &vigilv1.JoinTrustRequest{Token: join.Token, Secret: []byte("guess"),
			Csr: join.Csr, Kind: "host", Name: "h9"}); codeOf(err) != "denied" {
			t.Errorf("a guess: %v", err)
		}
	}
	if now := written(); now != was {
		t.Errorf("guesses of a stranger have written %d entries", now-was)
	}

	service := w.servers[0].trust
	renew := func(as trust.Peer, csr []byte) (*vigilv1.Certificate, error) {
		return service.Renew(withCaller(within(t), as), &vigilv1.RenewTrustRequest{Csr: csr})
	}
	next := certRequest(t)
	if _, err := renew(peer, next); err != nil { // the answer is lost
		t.Fatal(err)
	}
	second, err := renew(peer, next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := renew(peer, certRequest(t)); codeOf(err) != "auth_denied" ||
		!strings.Contains(err.Error(), "another machine") {
		t.Errorf("a clone renews: %v", err)
	}
	list, err := w.trust(1).ListIdentities(within(t), &vigilv1.ListIdentitiesRequest{Kind: "host"})
	if err != nil || len(list.GetIdentities()) != 1 || list.Identities[0].GetSerial() != second.GetSerial() {
		t.Fatalf("hosts with identities: %v, %v", list, err)
	}
	leaf := list.Identities[0]
	age := leaf.GetAge().AsDuration()
	if leaf.GetRenewsIn().AsDuration() != trust.RenewHost-age || leaf.GetLeft().AsDuration() != trust.Life-age ||
		leaf.GetGrace().AsDuration() != trust.Grace || !leaf.GetUntil().AsTime().After(time.Now()) {
		t.Errorf("the dates of a new certificate: %v", leaf)
	}
	if _, err := w.trust(1).Revoke(within(t), &vigilv1.RevokeRequest{Kind: "host", Name: "h1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := renew(verified(t, roots, second), certRequest(t)); codeOf(err) != "auth_denied" {
		t.Errorf("who is revoked renews: %v", err)
	}
	_, err = w.trust(0).Renew(within(t), &vigilv1.RenewTrustRequest{Csr: certRequest(t)})
	if codeOf(err) != "denied" {
		t.Errorf("who presents nothing renews: %v", err)
	}
}

// keyless is a server that gets its issuing key when it has been asked for certificates some times.
type keyless struct {
	testSigner
	left atomic.Int32
}

func (k *keyless) Sign(csr []byte, n trust.Name, s trust.Stamp, sans []string) ([]*x509.Certificate, error) {
	if k.left.Add(-1) >= 0 {
		return nil, trust.ErrNoIssuer
	}
	return k.testSigner.Sign(csr, n, s, sans)
}

// A leader that cannot sign uses up no token, and clients come again by themselves until it can.
func TestTrustATokenOutlivesAServerThatCannotSign(t *testing.T) {
	w, _ := trusting(t, 1)
	token := w.token(t, "host", "")
	service := w.servers[0].trust
	late := &keyless{testSigner: service.Signer.(testSigner)}
	late.left.Store(3)
	service.Signer = late
	if _, err := w.trust(0).Join(within(t), &vigilv1.JoinTrustRequest{Token: token.GetToken(),
		Secret: token.GetSecret(), Csr: certRequest(t), Kind: "host", Name: "h1"}); err != nil {
		t.Errorf("the token is gone for nothing: %v", err)
	}
	if late.left.Load() >= 0 {
		t.Error("joined without a certificate")
	}
}

// another token for hosts.
func (w *world) another(t *testing.T) (uint64, []byte) {
	token := w.token(t, "host", "")
	return token.GetToken(), token.GetSecret()
}

// A request for a certificate that cannot be signed uses up no token.
func TestTrustAWrongRequestCostsNoToken(t *testing.T) {
	w, roots := trusting(t, 1)
	token := w.token(t, "server", "")
	r := &vigilv1.JoinTrustRequest{Token: token.GetToken(), Secret: token.GetSecret(), Csr: []byte("x"),
		Kind: "server", Name: "s2", Addresses: []string{"10.0.0.2", "s2.example.org"}}
	if _, err := w.trust(0).Join(within(t), r); codeOf(err) != "invalid" {
		t.Fatalf("joined with no request: %v", err)
	}
	r.Csr = certRequest(t)
	c, err := w.trust(0).Join(within(t), r)
	if err != nil {
		t.Fatal(err)
	}
	if peer := verified(t, roots, c); peer.Short() != "server/s2" {
		t.Errorf("joined as %+v", peer)
	}
	leaf, err := x509.ParseCertificate(c.GetChain()[0])
	if err != nil || len(leaf.IPAddresses) != 1 || !slices.Equal(leaf.DNSNames, []string{"s2.example.org"}) {
		t.Errorf("its addresses are %v and %v (%v)", leaf.IPAddresses, leaf.DNSNames, err)
	}
}

// A user is added, logs in on two machines, gets other roles and is removed; over HTTP, through a follower.
func TestTrustUsersOverHTTP(t *testing.T) {
	w, roots := trusting(t, 2)
	call := func(want int, method, path, body string) map[string]any {
		t.Helper()
		status, got, _ := w.call(1, method, path, body)
		if status != want {
			t.Fatalf("%s %s: %d %v, want %d", method, path, status, got, want)
		}
		return got
	}
	call(404, "POST", "/v1/tokens", `{"role":"user","name":"bob@example.org"}`)
	got := call(200, "PUT", "/v1/users/bob@example.org", `{"bindings":[{"role":"operator","room":"web"}]}`)
	if got["user"] != "bob@example.org" || !strings.Contains(fmt.Sprint(got["bindings"]), "operator") {
		t.Errorf("added %v", got)
	}
	token := call(200, "POST", "/v1/tokens", `{"role":"user","name":"bob@example.org","uses":2,"ttl":"600s"}`)
	for range 2 {
		body, err := json.Marshal(map[string]any{"token": token["token"], "secret": token["secret"],
			"csr": certRequest(t), "user": "bob@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		c := call(200, "POST", "/v1/trust:login", string(body))
		var reply vigilv1.Certificate
		text, err := json.Marshal(c["chain"])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &reply.Chain); err != nil {
			t.Fatal(err)
		}
		reply.Serial, reply.Generation = fmt.Sprint(c["serial"]), 1
		if peer := verified(t, roots, &reply); peer.Short() != "user/bob@example.org" {
			t.Errorf("logged in as %+v", peer)
		}
	}
	call(200, "PUT", "/v1/users/bob@example.org", `{"bindings":[{"role":"viewer","room":"*"}]}`)
	call(400, "PUT", "/v1/users/bob@example.org", `{"bindings":[{"role":"root","room":"*"}]}`)
	list := call(200, "GET", "/v1/users?limit=1", "")
	if users, _ := list["users"].([]any); len(users) != 1 || list["more"] != true || list["next"] != "ann" {
		t.Errorf("the first page is %v", list)
	}
	if list = call(200, "GET", "/v1/users?after=ann", ""); !strings.Contains(fmt.Sprint(list), "viewer") {
		t.Errorf("the second page is %v", list)
	}
	call(200, "DELETE", "/v1/users/bob@example.org", "")
	call(404, "DELETE", "/v1/users/bob@example.org", "")
	list = call(200, "GET", "/v1/identities?kind=user&gone=true", "")
	if !strings.Contains(fmt.Sprint(list), "gone:true") {
		t.Errorf("identities: %v", list)
	}
	if got = call(200, "GET", "/v1/trust", ""); got["cluster"] != testCluster {
		t.Errorf("the cluster is %v", got)
	}
}

// API tokens are made, found by their hash, listed without their secret and revoked.
func TestTrustAPITokens(t *testing.T) {
	w, _ := trusting(t, 2)
	made, err := w.trust(1).CreateAPIToken(within(t), &vigilv1.CreateAPITokenRequest{Name: "ci",
		Bindings: []*vigilv1.Binding{{Role: "operator", Room: "web"}}, Ttl: durationpb.New(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	secret, ok := strings.CutPrefix(made.GetBearer(), fmt.Sprintf("vigil-api.%d.", made.GetToken()))
	if !ok || len(secret) < 40 {
		t.Fatalf("the token is %d bytes long", len(made.GetBearer()))
	}
	sum := sha256.Sum256([]byte(secret))
	found := func() (name string) {
		w.nodes[0].Read(func(st *fsm.View) {
			if k := st.APIToken(string(sum[:])); k != nil {
				name = k.Name
			}
		})
		return name
	}
	if found() != "ci" {
		t.Error("nothing has the hash of its secret")
	}
	list, err := w.trust(0).ListAPITokens(within(t), &vigilv1.ListAPITokensRequest{})
	if err != nil || len(list.GetTokens()) != 1 || list.Tokens[0].GetEndsIn().AsDuration() != time.Hour ||
		strings.Contains(list.String(), secret) {
		t.Errorf("listed %v (%v)", list, err)
	}
	_, err = w.trust(0).RevokeAPIToken(within(t), &vigilv1.RevokeAPITokenRequest{Token: made.GetToken()})
	if err != nil {
		t.Fatal(err)
	}
	if found() != "" {
		t.Error("a revoked token is found")
	}
}

// No secret is in the state or the history, and whoever made what is said in it.
func TestTrustSecretsAreNowhere(t *testing.T) {
	w, _ := trusting(t, 1)
	as := withCaller(within(t), trust.Peer{Name: trust.Name{Cluster: testCluster, Kind: trust.User, ID: "ann"}})
	service := w.servers[0].trust
	token, err := service.CreateToken(as, &vigilv1.CreateTokenRequest{Role: "host",
		Labels: map[string]string{"zone": "a"}, Runners: []string{"claude"}})
	if err != nil {
		t.Fatal(err)
	}
	api, err := service.CreateAPIToken(as, &vigilv1.CreateAPITokenRequest{Name: "ci",
		Bindings: []*vigilv1.Binding{{Role: "viewer", Room: "*"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.trust(0).Join(within(t), &vigilv1.JoinTrustRequest{Token: token.GetToken(),
		Secret: token.GetSecret(), Csr: certRequest(t), Kind: "host", Name: "h1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.RevokeToken(as, &vigilv1.RevokeTokenRequest{Token: token.GetToken()}); err != nil {
		t.Fatal(err)
	}
	var dump bytes.Buffer
	if err := w.nodes[0].Snapshot(&dump); err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(api.GetBearer(), ".")[2]
	if len(token.GetSecret()) != 32 || bytes.Contains(dump.Bytes(), token.GetSecret()) ||
		bytes.Contains(dump.Bytes(), []byte(secret)) {
		t.Error("the state holds a secret")
	}
	said := map[string]string{}
	w.nodes[0].Read(func(st *fsm.View) {
		for e := range st.Events(0) {
			said[e.Kind] = e.Text
		}
	})
	for _, kind := range []string{"token.created", "token.used", "token.revoked", "api_token.created"} {
		if !strings.Contains(said[kind], "by user/ann") && !strings.Contains(said[kind], "of user/ann") {
			t.Errorf("%s says %q", kind, said[kind])
		}
	}
}

// Without identities the calls say what to do instead.
func TestTrustWithoutIdentities(t *testing.T) {
	w := start(t, 1)
	ctx := within(t)
	for name, call := range map[string]func(context.Context) error{
		"roots": func(ctx context.Context) error {
			_, err := w.trust(0).GetTrust(ctx, &vigilv1.GetTrustRequest{})
			return err
		},
		"token": func(ctx context.Context) error {
			_, err := w.trust(0).CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: "host"})
			return err
		},
		"join": func(ctx context.Context) error {
			_, err := w.trust(0).Join(ctx, &vigilv1.JoinTrustRequest{Token: 1, Secret: []byte("s"), Csr: []byte("c"),
				Kind: "host", Name: "h1"})
			return err
		},
		"renew": func(ctx context.Context) error {
			_, err := w.trust(0).Renew(ctx, &vigilv1.RenewTrustRequest{Csr: []byte("c")})
			return err
		},
		"user": func(ctx context.Context) error {
			_, err := w.trust(0).RemoveUser(ctx, &vigilv1.RemoveUserRequest{User: "ann"})
			return err
		},
	} {
		if err := call(ctx); codeOf(err) != "conflict" || !strings.Contains(fmt.Sprint(err), "vigil server init") {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := w.trust(0).ListTokens(ctx, &vigilv1.ListTokensRequest{})
	if err != nil || len(list.GetTokens()) != 0 {
		t.Errorf("tokens: %v, %v", list, err)
	}
}

// withCaller gives a context in which the holder of a certificate calls.
func withCaller(ctx context.Context, p trust.Peer) context.Context {
	return who.With(ctx, &who.Principal{Claim: vouch.ClaimOf(p)})
}
