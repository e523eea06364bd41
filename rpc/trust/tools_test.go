package trust

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// page is a server of a cluster as browsers and tools see it: its address, and the file with the root.
func page(t *testing.T) (url, ca string) {
	t.Helper()
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	name := Name{cluster, Server, "s1"}
	s1 := join(t, issuer(t, root, name, now), name, Stamp{Clock: 1, Generation: 1},
		"127.0.0.1", "localhost")
	l := tls.NewListener(must(net.Listen("tcp", "127.0.0.1:0"))(t), s1.Server(false, "http/1.1"))
	srv := &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>hello</p>") })}
	go func() { _ = srv.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = srv.Close() })
	d := Dir(t.TempDir())
	if err := d.PutRoots(s1.Roots()); err != nil {
		t.Fatal(err)
	}
	return "https://" + l.Addr().String() + "/", filepath.Join(string(d), rootsFile)
}

// What others have written connects to a server when it is told the root, and does not without.
func TestToolsConnect(t *testing.T) {
	url, ca := page(t)
	for _, tool := range []struct{ name, with, without []string }{
		{[]string{"curl"}, []string{"curl", "-sS", "--cacert", ca, url}, []string{"curl", "-sS", url}},
		{[]string{"python3"}, []string{"python3", "-c", "import ssl,sys,urllib.request as u;" +
			"print(u.urlopen(sys.argv[1],context=ssl.create_default_context(cafile=sys.argv[2])).read().decode())", url, ca},
			[]string{"python3", "-c", "import sys,urllib.request as u;print(u.urlopen(sys.argv[1]).read().decode())", url}},
		{[]string{"node"}, []string{"node", "-e", "require('https').get(process.argv[1]," +
			"{ca:require('fs').readFileSync(process.argv[2])}," +
			"r=>r.pipe(process.stdout))", url, ca},
			[]string{"node", "-e", "require('https').get(process.argv[1],r=>r.pipe(process.stdout))", url}},
	} {
		t.Run(tool.name[0], func(t *testing.T) {
			if _, err := exec.LookPath(tool.name[0]); err != nil {
				t.Skipf("left out: no %s", tool.name[0])
			}
			out, err := exec.Command(tool.with[0], tool.with[1:]...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "hello") {
				t.Errorf("with the root: %v\n%s", err, out)
			}
			out, err = exec.Command(tool.without[0], tool.without[1:]...).CombinedOutput()
			if err == nil || strings.Contains(string(out), "hello") {
				t.Errorf("without the root: %s", out)
			}
		})
	}
}

// Chromium shows a page of a server without a warning when its profile trusts the root, and shows none
// without. It ignores no error.
func TestChromiumConnects(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if _, err := exec.LookPath("certutil"); browser == "" || err != nil {
		t.Skip("left out: no chromium, or no certutil")
	}
	url, ca := page(t)
	home := t.TempDir()
	store := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		// Of its own: neither the profile nor the trust of whoever runs the test is touched.
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + home}
		cmd.WaitDelay = 5 * time.Second
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, errs.Bytes()[max(0, errs.Len()-2000):])
		}
		return string(out), err
	}
	show := func() (string, error) {
		return run(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--no-proxy-server",
			"--user-data-dir="+filepath.Join(home, "profile"), "--dump-dom", url)
	}
	if out, err := run("certutil", "-N", "-d", "sql:"+store, "--empty-password"); err != nil {
		t.Fatalf("make a store of certificates: %v\n%s", err, out)
	}
	if out, err := show(); strings.Contains(out, "<p>hello</p>") {
		t.Fatalf("without the root it shows the page (%v): %s", err, out)
	}
	if out, err := run("certutil", "-A", "-d", "sql:"+store, "-n", "vigil", "-t", "C,,", "-i", ca); err != nil {
		t.Fatalf("import the root: %v\n%s", err, out)
	}
	if out, err := show(); err != nil || !strings.Contains(out, "<p>hello</p>") {
		t.Errorf("with the root: %v\n%s", err, out)
	}
}
