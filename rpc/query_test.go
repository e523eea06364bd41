package rpc

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// F22: each call over GET takes the parameters that it has, of whichever service it is, and refuses
// those of other calls: a filter that is ignored would show everything.
func TestF22EachCallTakesItsOwnParametersOnly(t *testing.T) {
	w := start(t, 1)
	place := regexp.MustCompile(`\{(\w+)[^}]*\}`)
	calls, taken := 0, 0
	for _, svc := range allServices() {
		for i := range svc.Methods().Len() {
			m := svc.Methods().Get(i)
			path := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule).GetGet()
			if path == "" || m.IsStreamingServer() {
				continue
			}
			calls++
			at := place.ReplaceAllString(strings.ReplaceAll(path, "=*/*}", "}/1"), "1")
			for k := range m.Input().Fields().Len() {
				f := m.Input().Fields().Get(k)
				if f.Kind() == protoreflect.MessageKind || strings.Contains(path, "{"+f.TextName()) {
					continue
				}
				taken++
				if _, got, _ := w.call(0, "GET", at+"?"+f.TextName()+"=1", ""); strings.Contains(text(got),
					"parameter") {
					t.Errorf("%s: %s is refused: %v", m.FullName(), f.TextName(), got)
				}
			}
			if m.Input().Fields().Len() == 0 {
				continue // nothing looks at its parameters
			}
			for _, other := range []string{"newest_first", "pattern", "role", "after"} {
				if m.Input().Fields().ByName(protoreflect.Name(other)) != nil {
					continue
				}
				if code, got, _ := w.call(0, "GET", at+"?"+other+"=1", ""); code != 400 ||
					!strings.Contains(text(got), other) {
					t.Errorf("%s: %s, which it does not have, brings %d %v", m.FullName(), other, code, got)
				}
			}
		}
	}
	if calls < 20 || taken < 20 {
		t.Errorf("only %d parameters of %d calls were tried", taken, calls)
	}
}

func text(body map[string]any) string { s, _ := body["message"].(string); return s }

// allServices are those of the .proto files.
func allServices() (all []protoreflect.ServiceDescriptor) {
	protoregistry.GlobalFiles.RangeFilesByPackage("vigil.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			all = append(all, f.Services().Get(i))
		}
		return true
	})
	return all
}
