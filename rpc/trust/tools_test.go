package trust

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What others have written connects to a server when it is told the root, and does not without.
func TestToolsConnect(t *testing.T) {
	now := time.Now()
	cluster := NewCluster()
	root := must(NewRoot(cluster, now))(t)
	name := Name{cluster, Server, "s1"}
	s1 := join(t, issuer(t, root, name, now), name, Stamp{Clock: 1, Generation: 1}, now,
		"127.0.0.1", "localhost")
	l := tls.NewListener(must(net.Listen("tcp", "127.0.0.1:0"))(t), s1.Server(false, "http/1.1"))
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })}
	go func() { _ = srv.Serve(l) }() // ends with Close
	defer srv.Close()
	d := Dir(t.TempDir())
	if err := d.PutRoots(s1.Roots()); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(string(d), rootsFile)
	url := "https://" + l.Addr().String() + "/"
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
