package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
)

func TestKeygen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gossip.key")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"keygen", file}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	f := conf.Gossip{Bind: "127.0.0.1:0", KeyFile: file}
	member, err := f.Open(gossip.Host, "h", "b", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	member.Close()
	if code := run(t.Context(), []string{"keygen", file}, strings.NewReader(""), &out, &errs); code != cli.ExitFailed {
		t.Errorf("a key was overwritten: exit code %d", code)
	}
	f.KeyFile += ".none"
	if _, err := f.Open(gossip.Host, "h", "b", hclog.NewNullLogger()); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("no key: %v", err)
	}
}
