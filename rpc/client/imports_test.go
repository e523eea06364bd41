package client_test

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The public client may be imported by anybody: it rests on the generated messages,
// gRPC, the standard library and the packages link and code, which rest on no other part of vigil.
func TestImportsOfThePublicClient(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(path, "/")
			standard := !strings.Contains(first, ".") && first != "vigil"
			switch {
			case standard, path == "vigil/rpc/gen/vigilv1", path == "vigil/rpc/link", path == "vigil/rpc/code":
			case strings.HasPrefix(path, "google.golang.org/grpc"),
				strings.HasPrefix(path, "google.golang.org/protobuf"):
			default:
				t.Errorf("%s imports %s", file.Name(), path)
			}
		}
	}
}
