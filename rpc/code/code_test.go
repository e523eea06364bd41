package code

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/gen/vigilv1"
)

func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if seen[r.Name] {
			t.Errorf("%s stands twice", r.Name)
		}
		seen[r.Name] = true
		if r.HTTP < 200 || !strings.HasSuffix(r.Remedy, ".") {
			t.Errorf("%s lacks an HTTP status or a sentence: %+v", r.Name, r)
		}
	}
	if r := Of("of_a_newer_server"); r.Name != Internal || r.Fate.No() || r.Fate.Fleeting() {
		t.Errorf("a code that nobody knows is treated as %+v", r)
	}
}

// A name that gRPC's own code stands for is sent with that code.
func TestBareCodesHaveRowsOfTheirOwn(t *testing.T) {
	for _, r := range Rows() {
		bare := Of(Bare(r.GRPC))
		if bare.Name != Internal && bare.GRPC != r.GRPC && Of(Bare(bare.GRPC)).Name != bare.Name {
			t.Errorf("%s is sent as %s, which is read as %s, which is sent as %s", r.Name, r.GRPC, bare.Name, bare.GRPC)
		}
	}
}

// Marks around the part of docs/errors.md that is made from the table.
const (
	docBegin = "<!-- table: begin -->\n"
	docEnd   = "<!-- table: end -->"
	docPath  = "../../docs/errors.md"
)

func docTable() string {
	var b bytes.Buffer
	b.WriteString("| Code | HTTP | gRPC | The call | What to do |\n|---|---|---|---|---|\n")
	for _, r := range Rows() {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", r.Name, r.HTTP, r.GRPC, r.Fate, r.Remedy)
	}
	return b.String()
}

// TestErrorsAreDocumented compares the page with the table; VIGIL_WRITE_DOCS=1 writes it.
func TestErrorsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), docBegin)
	old, tail, ok2 := strings.Cut(rest, docEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around its table", docPath)
	}
	if old == docTable() {
		return
	}
	if os.Getenv("VIGIL_WRITE_DOCS") == "" {
		t.Fatalf("%s differs from the table; run VIGIL_WRITE_DOCS=1 go test -run %s ./rpc/code", docPath, t.Name())
	}
	if err := os.WriteFile(docPath, []byte(head+docBegin+docTable()+docEnd+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every method has one nature, which fits its messages: what may be stale is a read, what
// changes something and has no write id is not repeated.
func TestNaturesFitTheMessages(t *testing.T) {
	listed := 0
	for _, names := range methods {
		listed += len(names)
	}
	known := 0
	for _, file := range []protoreflect.FileDescriptor{
		vigilv1.File_vigil_v1_fleet_proto, vigilv1.File_vigil_v1_work_proto, vigilv1.File_vigil_v1_host_proto,
		vigilv1.File_vigil_v1_cluster_proto, vigilv1.File_vigil_v1_mail_proto,
		vigilv1.File_vigil_v1_escalation_proto, vigilv1.File_vigil_v1_overseer_proto,
		vigilv1.File_vigil_v1_trust_proto, vigilv1.File_vigil_v1_calls_proto, vigilv1.File_vigil_v1_desk_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				d := service.Methods().Get(j)
				name := fmt.Sprintf("/%s/%s", service.FullName(), d.Name())
				nature, in := NatureOf(name), d.Input().Fields()
				known++
				streams := d.IsStreamingClient() || d.IsStreamingServer()
				id := in.ByName("id")
				numbered := id != nil && id.Message() != nil || d.Input().Name() == "BatchRequest"
				switch {
				case nature == Unknown:
					t.Errorf("%s has no nature", name)
				case streams != (nature == Stream || nature == Watch):
					t.Errorf("%s: does it stream or not?", name)
				case (in.ByName("stale") != nil) != (nature == Read):
					t.Errorf("%s: is it a read or not?", name)
				case nature == Write && !numbered, nature == Unnumbered && numbered:
					t.Errorf("%s: does it have a write id or not?", name)
				}
			}
		}
	}
	for name := range sizes {
		if NatureOf(name) == Unknown {
			t.Errorf("%s has a size and no nature", name)
		}
		if MaxRequest(name) <= usual || MaxRequest(name) > MaxMessage {
			t.Errorf("%s: %d bytes are no exception", name, MaxRequest(name))
		}
	}
	if listed != known || len(natures) != known {
		t.Errorf("%d methods are listed, %d of them once; there are %d", listed, len(natures), known)
	}
}
