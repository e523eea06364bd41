package rpc

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each room of rpc has its line of the table of imports: libraries, fsm and what is
// beneath it. Services stand on door and park, which do not know each other and never
// name a service; rooms of services do not know each other.
func TestImports(t *testing.T) {
	grpc := []string{"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto"}
	rooms := map[string][]string{
		".": append(grpc, "vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code", "vigil/rpc/fault", "vigil/rpc/door",
			"vigil/rpc/park", "vigil/rpc/triage", "vigil/rpc/base", "vigil/rpc/form", "vigil/rpc/vouch",
			"vigil/rpc/hosts", "vigil/rpc/servers", "vigil/rpc/desk", "github.com/hashicorp/go-hclog",
			"github.com/prometheus/client_golang"),
		"base": {"vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code", "vigil/rpc/fault", "vigil/rpc/door",
			"vigil/rpc/park"},
		"form": {"google.golang.org/protobuf", "vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code",
			"vigil/rpc/fault"},
		"hosts": append(grpc, "vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code", "vigil/rpc/fault",
			"vigil/rpc/door", "vigil/rpc/base", "vigil/rpc/form"),
		"servers": append(grpc, "vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code", "vigil/rpc/fault",
			"vigil/rpc/door", "vigil/rpc/base", "vigil/rpc/form"),
		"desk": append(grpc, "github.com/prometheus/client_golang", "vigil/fsm", "vigil/rpc/gen/vigilv1",
			"vigil/rpc/code", "vigil/rpc/fault", "vigil/rpc/door", "vigil/rpc/base", "vigil/rpc/form"),
		"vouch": {"google.golang.org/protobuf", "vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code",
			"vigil/rpc/fault", "vigil/rpc/door", "vigil/rpc/base", "vigil/rpc/form", "vigil/rpc/trust"},
		"door": append(grpc, "vigil/fsm", "vigil/rpc/gen/vigilv1", "vigil/rpc/code", "vigil/rpc/fault",
			"vigil/rpc/link", "vigil/rpc/jsonform", "vigil/rpc/door/who", "vigil/rpc/web",
			"github.com/grpc-ecosystem/grpc-gateway", "github.com/hashicorp/go-hclog",
			"github.com/prometheus/client_golang", "golang.org/x/sync"),
		"door/who": {"vigil/rpc/code"},
		"web":      {},
		"park":     {"vigil/fsm", "vigil/rpc/code", "vigil/rpc/fault"},
		"fault":    append(grpc, "vigil/fsm/noun", "vigil/rpc/code", "vigil/rpc/gen/vigilv1"),
		"triage":   {"vigil/fsm/noun"},
		"jsonform": {"google.golang.org/protobuf"},
		"code":     append(grpc, "vigil/rpc/gen/vigilv1"),
	}
	for room, allowed := range rooms {
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", room, len(files), err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			src, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range src.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				ok := !strings.Contains(strings.Split(path, "/")[0], ".") && !strings.HasPrefix(path, "vigil")
				for _, a := range allowed {
					ok = ok || path == a || strings.HasPrefix(path, a+"/")
				}
				if !ok {
					t.Errorf("%s imports %s, which is not this room's to import", f, path)
				}
			}
		}
	}
}
