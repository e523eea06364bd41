package local

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// What never goes through the socket of a life, by hand: what is for admins, servers and hosts, and all about
// identities, and streams that carry many calls, whose methods the socket does not see. The rest
// is an agent's own work and mail, or what its role may be granted.
var neverThroughSocket = strings.Fields("Cluster/AddServer Cluster/AnnounceServer Cluster/PutSettings " +
	"Cluster/RemoveServer Cluster/PromoteServer Cluster/DemoteServer " +
	"Cluster/Diagnose " +
	"Cluster/ReportHash Cluster/ReportViews Cluster/RestoreSnapshot Cluster/SaveSnapshot Cluster/TransferLeadership " +
	"Fleet/AtTerminal Trust/ HostAgent/ Calls/")

// Each method of the API passes the socket of a life or does not, over gRPC and over HTTP by each of its paths;
// no method passes that no agent could be allowed.
func TestEveryMethodPassesTheSocketOrNot(t *testing.T) {
	seen := 0
	protoregistry.GlobalFiles.RangeFilesByPackage(vigilv1.File_vigil_v1_work_proto.Package(),
		func(f protoreflect.FileDescriptor) bool {
			for i := range f.Services().Len() {
				s := f.Services().Get(i)
				for j := range s.Methods().Len() {
					seen++
					m := s.Methods().Get(j)
					full := "/" + string(s.FullName()) + "/" + string(m.Name())
					want := !slices.ContainsFunc(neverThroughSocket, func(never string) bool {
						name := string(s.Name()) + "/" + string(m.Name())
						return name == never || strings.HasSuffix(never, "/") && strings.HasPrefix(name, never)
					})
					if permit, ok := code.PermitOf(full); want && (!ok || permit.Role == code.Admin || !permit.Life &&
						!permit.Reads && !permit.Known && permit.Role == code.NoRole) {
						t.Errorf("%s passes the socket, and no agent may call it: %+v", full, permit)
					}
					asks(t, full, want, m)
				}
			}
			return true
		})
	if seen < 80 {
		t.Errorf("only %d methods were found", seen)
	}
}

var inPath = regexp.MustCompile(`\{[a-z_.]+(=[^}]*)?\}`)

// asks looks whether requests for a method pass.
func asks(t *testing.T, full string, want bool, m protoreflect.MethodDescriptor) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, full, nil)
	r.ProtoMajor = 2
	r.Header.Set("Content-Type", "application/grpc")
	if name, may := Method(r); name != full || may != want {
		t.Errorf("%s over gRPC is %s and passes: %v, want %v", full, name, may, want)
	}
	r.Method = http.MethodGet
	if _, may := Method(r); may {
		t.Errorf("%s passes as a GET of gRPC", full)
	}
	if !proto.HasExtension(m.Options(), annotations.E_Http) {
		return
	}
	first := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	for _, rule := range append([]*annotations.HttpRule{first}, first.GetAdditionalBindings()...) {
		verb, path := http.MethodGet, rule.GetGet()
		for _, other := range []struct{ verb, path string }{
			{http.MethodPut, rule.GetPut()}, {http.MethodPost, rule.GetPost()},
			{http.MethodDelete, rule.GetDelete()}, {http.MethodPatch, rule.GetPatch()}} {
			if other.path != "" {
				verb, path = other.verb, other.path
			}
		}
		path = inPath.ReplaceAllStringFunc(path, func(v string) string {
			if _, parts, given := strings.Cut(strings.Trim(v, "{}"), "="); given {
				return strings.ReplaceAll(parts, "*", "x")
			}
			return "7"
		})
		for _, target := range []string{path, path + "?agent=web/other", strings.Replace(path, "7", "%37", 1)} {
			name, may := Method(httptest.NewRequest(verb, target, nil))
			if may != want || want && name != full {
				t.Errorf("%s %s is %s and passes: %v, want %v", verb, target, name, may, want)
			}
		}
		if _, may := Method(httptest.NewRequest(http.MethodTrace, path, nil)); may {
			t.Errorf("TRACE %s passes", path)
		}
	}
}
