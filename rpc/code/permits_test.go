package code

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Every method of the API has a permit; no permit is about a method that was renamed. The service
// of identities may come later than its rows.
func TestEveryMethodHasAPermit(t *testing.T) {
	known := map[string]bool{}
	protoregistry.GlobalFiles.RangeFilesByPackage("vigil.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				name := "/" + string(s.FullName()) + "/" + string(s.Methods().Get(j).Name())
				known[name] = true
				if _, ok := PermitOf(name); !ok {
					t.Errorf("%s has no permit: nobody could call it", name)
				}
			}
		}
		return true
	})
	if len(known) < 80 {
		t.Fatalf("only %d methods were found", len(known))
	}
	for _, name := range Permits() {
		if !known[name] && !strings.HasPrefix(name, trust) {
			t.Errorf("there is a permit for %s, and no such method", name)
		}
	}
}

// A permit lets somebody in, says what it is about, and nobody in by two ways that contradict each
// other.
func TestPermitsAreWhole(t *testing.T) {
	for _, name := range Permits() {
		p, _ := PermitOf(name)
		if p.Does == "" {
			t.Errorf("%s: its permit does not say what it is about", name)
		}
		if p == (Permit{Does: p.Does, Reach: p.Reach}) {
			t.Errorf("%s: nobody may call it", name)
		}
		if p.Anybody && (p.Role != NoRole || p.Host || p.Server || p.Life || p.Reads) {
			t.Errorf("%s is open to anybody and names who may: %+v", name, p)
		}
		if p.Outcast && !p.Anybody {
			t.Errorf("%s takes outcasts and not everybody", name)
		}
	}
	if p, ok := PermitOf("/vigil.v1.Fleet/OfANewerVersion"); ok {
		t.Errorf("a method that is not in the table has the permit %+v", p)
	}
}

func TestRolesHaveWords(t *testing.T) {
	for r := Viewer; r <= Admin; r++ {
		if got, ok := ParseRole(r.String()); got != r || !ok {
			t.Errorf("%s is read as %s", r, got)
		}
	}
	if r, ok := ParseRole("none"); ok || r != NoRole {
		t.Errorf("none is a role: %s", r)
	}
}
