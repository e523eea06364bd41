package main

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The client is released for systems that run no servers and hosts, and nothing else here is compiled for them:
// its sources are checked as their compiler would.
func TestClientOfOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: it takes seconds of processor")
	}
	t.Parallel()
	for _, system := range []string{"darwin", "windows"} {
		list, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax |
				packages.NeedTypesInfo | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedTypesSizes,
			Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		}, "vigil/cmd/vigil")
		if err != nil {
			t.Fatal(err)
		}
		packages.Visit(list, nil, func(p *packages.Package) {
			for _, e := range p.Errors {
				t.Errorf("%s: %s: %s", system, p.PkgPath, e)
			}
		})
	}
}
