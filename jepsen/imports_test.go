package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The judge looks from outside: nothing below jepsen knows how the product works
// inside, it only speaks to it as everybody can. The simulation alone holds replicas
// in its hand, and nothing imports it.
func TestImports(t *testing.T) {
	allowed := []string{"vigil/jepsen/", "vigil/cmd/vigil/bench/ledger", "vigil/rpc/client", "vigil/rpc/gen/vigilv1",
		"vigil/rpc/freeport",
		"vigil/rpc/sdk",   // files: the clients in other languages
		"vigil/rpc/trust", // the folder in which a person keeps who they are
		"google.golang.org/protobuf/", "google.golang.org/grpc", "golang.org/x/sys/", "golang.org/x/sync/",
		"github.com/anishathalye/porcupine", "github.com/hanwen/go-fuse/",
		"github.com/hashicorp/raft"} // the format of its log, which disks damage
	inSim := []string{"vigil/jepsen/check", "vigil/jepsen/history", "vigil/cmd/vigil/bench/ledger",
		"vigil/cluster", "vigil/fsm", "github.com/hashicorp/raft"}
	// A module of its own: it runs the product and imports nothing of it.
	inPeers := []string{"github.com/nats-io/", "go.etcd.io/etcd/", "go.uber.org/zap"}
	files := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		may := allowed
		switch filepath.Dir(path) {
		case "sim":
			may = inSim
		case "peers":
			may = inPeers
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(name, "/")
			ok := !strings.Contains(first, ".") && first != "vigil" // standard library
			for _, prefix := range may {
				ok = ok || strings.HasPrefix(name, prefix)
			}
			if !ok || name == "vigil/jepsen/sim" {
				t.Errorf("%s imports %s", path, name)
			}
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files were read: %v", files, err)
	}
}

// The product imports nothing of its judge, in its tests neither.
func TestTheProductImportsNothingOfItsJudge(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (path == filepath.Join("..", "jepsen") || len(e.Name()) > 2 && e.Name()[0] == '.'):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		files++
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err != nil ||
				name == "vigil/jepsen" || strings.HasPrefix(name, "vigil/jepsen/") {
				t.Errorf("%s imports %s", path, spec.Path.Value)
			}
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
