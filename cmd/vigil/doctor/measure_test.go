//go:build linux

package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/trust"
)

// What is broken on a real machine is measured as what it is.
func TestDoctorMeasuresThisMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "server.yaml")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "id: s1\ninsecure: true\ndata_dir: "+dir+"\n", 0o600)
	look := func() string {
		t.Helper()
		m, err := measureServer(file)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range judgeMachine(m) {
			if f.About == "dir" || f.About == "config" {
				said = append(said, f.What+" | "+f.Remedy)
			}
		}
		return strings.Join(said, "\n")
	}
	if got := look(); !strings.Contains(got, "is not there") {
		t.Errorf("no directory: %s", got)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := look(); !strings.Contains(got, "chmod 0700 "+dir) {
		t.Errorf("a directory for all: %s", got)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := look(); got != "" {
		t.Errorf("a sound directory: %s", got)
	}
	write(filepath.Join(dir, "trust", "leaf.key"), "x", 0o644)
	if got := look(); !strings.Contains(got, "chmod 600 "+filepath.Join(dir, "trust", "leaf.key")) {
		t.Errorf("a key for all: %s", got)
	}
	write(file, "id: s1\nisecure: true\n", 0o600)
	if got := look(); !strings.Contains(got, "isecure") || !strings.Contains(got, "correct "+file) {
		t.Errorf("an unknown key: %s", got)
	}
}

// A data directory that this account may not look into is no machine on which nothing was found.
func TestDoctorSaysWhatItMayNotLookAt(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "server", "trust"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "host", "trust"), 0o700); err != nil {
		t.Fatal(err)
	}
	places := []place{{true, "server.yaml", filepath.Join(dir, "server")},
		{false, "agentd.yaml", filepath.Join(dir, "host")}, {false, "no.yaml", filepath.Join(dir, "none")}}
	if server, host, closed := found(places); server != "server.yaml" || host != "agentd.yaml" || len(closed) != 0 {
		t.Errorf("found %q and %q, closed %q", server, host, closed)
	}
	for i, mode := range []os.FileMode{0, 0o711} { // as packages have them, for whoever does not own them
		if err := os.Chmod(places[i].data, mode); err != nil {
			t.Fatal(err)
		}
	}
	var closed []string
	asNobody(t, dir, func() { _, _, closed = found(places) })
	var said list
	said.judgeClosed(closed)
	if len(said) != 1 || said[0].Mend || !strings.Contains(said[0].What, places[0].data) ||
		said[0].Remedy != "sudo vigil doctor --local" {
		t.Errorf("closed %q, found %+v", closed, said)
	}
}

// asNobody does something as an account without rights, where this one is root; dir is for it to enter.
func asNobody(t *testing.T, dir string, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // it ends with this goroutine: nobody else runs as that account
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETREUID, ^uintptr(0), 65534, 0)
		if errno != 0 {
			done <- errno
			return
		}
		do()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Skip("this account is root and cannot be another: ", err)
	}
}

// The key of the root may be away for longer than the dates of certificates last: servers renew theirs all the same, so
// nothing is to be mended. Only browsers and tools mind the dates, and they see servers.
func TestDoctorTakesDatesForWhatBrowsersSee(t *testing.T) {
	const day = 24 * time.Hour
	folder := t.TempDir()
	dir := trust.Dir(filepath.Join(folder, "trust"))
	root, err := trust.NewRoot(trust.NewCluster(), time.Now().Add(-200*day))
	if err != nil {
		t.Fatal(err)
	}
	roots, err := trust.NewRoots(root.Chain[0])
	if err != nil {
		t.Fatal(err)
	}
	made := func(sign func(csr []byte) ([]*x509.Certificate, error)) *trust.Authority {
		t.Helper()
		key, err := trust.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		csr, err := trust.Request(key)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := sign(csr)
		if err != nil {
			t.Fatal(err)
		}
		return &trust.Authority{Chain: chain, Key: key}
	}
	for _, tt := range []struct {
		kind trust.Kind
		age  time.Duration // of the issuing key
		note bool
	}{
		{trust.Server, 0, false},
		{trust.Server, 80 * day, true},
		{trust.Server, 100 * day, true},
		{trust.Host, 100 * day, false},
	} {
		name := trust.Name{Cluster: roots.Cluster, Kind: tt.kind, ID: "s1"}
		issuer := made(func(csr []byte) ([]*x509.Certificate, error) {
			by := trust.Name{Cluster: roots.Cluster, Kind: trust.Server, ID: "s1"}
			return root.Issuer(csr, by, trust.Stamp{}, time.Now().Add(-tt.age))
		})
		leaf := made(func(csr []byte) ([]*x509.Certificate, error) { return issuer.Leaf(csr, name, trust.Stamp{}, nil) })
		if err := errors.Join(dir.PutRoots(roots), dir.Put(trust.LeafFiles, leaf)); err != nil {
			t.Fatal(err)
		}
		m := &Machine{Dir: folder, Server: tt.kind == trust.Server, Now: time.Now()}
		m.measureTrust()
		var said list
		for _, f := range judgeMachine(m) {
			if f.About == "certificate" {
				said = append(said, f)
			}
		}
		if len(said) > 1 || (len(said) == 1) != tt.note || tt.note && (said[0].Mend ||
			!strings.Contains(said[0].What, "browsers")) {
			t.Errorf("the issuing key of a %s is %s old: %+v", tt.kind, tt.age, said)
		}
	}
}

// An operator's own certificate is measured: one that ends soon is told of, one that has ended is wrong.
func TestDoctorMeasuresTheOperatorsCertificate(t *testing.T) {
	folder := t.TempDir()
	file, crt, secret := filepath.Join(folder, "server.yaml"),
		filepath.Join(folder, "web.crt"), filepath.Join(folder, "web.key")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	found := func(left time.Duration) (all list) {
		t.Helper()
		c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(left)}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string][]byte{
			file:   []byte("id: s1\ndata_dir: " + folder + "\nhttp_cert: " + crt + "\nhttp_key: " + secret + "\n"),
			crt:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			secret: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: inner})} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := measureServer(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range judgeMachine(m) {
			if strings.Contains(f.What, crt) {
				all = append(all, f)
			}
		}
		return all
	}
	if got := found(30 * 24 * time.Hour); len(got) != 0 {
		t.Errorf("a month is left, and this is said: %+v", got)
	}
	if got := found(10 * 24 * time.Hour); len(got) != 1 || got[0].Mend || got[0].About != "certificate" {
		t.Errorf("ten days are left: %+v", got)
	}
	if got := found(-time.Hour); len(got) != 1 || !got[0].Mend || got[0].About != "config" {
		t.Errorf("it has ended: %+v", got)
	}
}

// Writes are timed, and nothing of them stays.
func TestDoctorTimesWritesAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	times, err := timeSyncs(dir)
	if err != nil || len(times) == 0 {
		t.Fatalf("%v, %v", times, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := timeSyncs(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there was written to")
	}
}

// How many processes may still be started is what the kernel says.
func TestDoctorCountsTasks(t *testing.T) {
	dir := t.TempDir()
	load, most := filepath.Join(dir, "loadavg"), filepath.Join(dir, "pid_max")
	for file, text := range map[string]string{load: "0.10 0.20 0.30 2/900 12345\n", most: "1000\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := tasksLeft(load, most); got != 100 {
		t.Errorf("%d left, want 100", got)
	}
	if got := tasksLeft(filepath.Join(dir, "none"), most); got != math.MaxUint64 {
		t.Errorf("%d left of what nobody knows", got)
	}
}

// The bounds of all control groups above this process count, also the one that its container is.
func TestDoctorCountsTasksOfItsContainer(t *testing.T) {
	dir := t.TempDir()
	own, root := filepath.Join(dir, "own"), filepath.Join(dir, "cgroup")
	if err := os.MkdirAll(filepath.Join(root, "unit"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"pids.max": "300\n", "pids.current": "100\n", "unit/pids.max": "max\n",
		"unit/pids.current": "3\n"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range []string{"/", "/unit"} {
		if err := os.WriteFile(own, []byte("9:pids:/\n0::"+group+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := groupLeft(own, root); got != 200 {
			t.Errorf("in %s: %d left, want 200", group, got)
		}
	}
}

// A configuration that cannot be read is the one thing that is wrong: what was not measured is not judged.
func TestUnreadConfigurationIsAllThatIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gone.yaml")
	for name, look := range map[string]func(string) (*Machine, error){"server": measureServer, "host": measureHost} {
		m, err := look(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := judgeMachine(m); len(got) != 1 || got[0].About != "config" || !strings.Contains(got[0].What, file) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a server may still need of its disk is what its log and its snapshots may come to, without what is there.
func TestDoctorKnowsWhatADataDirectoryMayGrowTo(t *testing.T) {
	dir := t.TempDir()
	grow := func(path string, size int64) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil { // it needs no room
			t.Fatal(err)
		}
	}
	want := func(what string, mib uint64) {
		t.Helper()
		if got := mayGrow(dir, 256<<20); got != mib<<20 {
			t.Errorf("%s: %d MiB, not %d", what, got>>20, mib)
		}
	}
	want("an empty one", 5*256)
	grow("snapshots/1-7-100/state.bin", 200<<20)
	want("a snapshot", 5*256+3*200)
	grow("wal/1.wal", 64<<20)
	grow("snapshots/1-9-200/state.bin", 100<<20)
	want("more of it", 5*256+3*200-100-64)
	grow("wal/2.wal", 3<<30)
	want("more than that is there", 256)
}
