package local

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// mayCall tells whether some agent may call a method: about its own work and mail, or as its role is granted
// to. Which life may call one about what, the servers judge. Nothing about identities passes: the connection
// to the servers is the host's, who could be taken for the one who asks.
func mayCall(method string) bool {
	p, known := code.PermitOf(method)
	switch service, _, _ := strings.Cut(strings.TrimPrefix(method, "/vigil.v1."), "/"); service {
	case "Trust", "HostAgent":
		return false
	case "Calls": // what goes over a stream of many is seen by nobody here
		return false
	case "Work", "Mailbox":
		return known && (p.Life || p.Reads || p.Known)
	}
	return known && (p.Life || p.Reads || p.Role > code.NoRole && p.Role < code.Admin)
}

// Method gives the full name of the method that a request calls, and whether agents may call
// it through the socket of their life.
func Method(r *http.Request) (name string, may bool) {
	if isGRPC(r) {
		return r.URL.Path, r.Method == http.MethodPost && mayCall(r.URL.Path)
	}
	// Whatever the path could mean to a server must be allowed.
	if path.Clean(r.URL.Path) != r.URL.Path {
		return "", false
	}
	for _, rule := range rules() {
		if rule.verb != r.Method || !rule.path.MatchString(r.URL.Path) {
			continue
		}
		if !mayCall(rule.method) {
			return rule.method, false
		}
		name = rule.method
	}
	return name, name != ""
}

// rule says which method a verb on a path calls.
type rule struct {
	verb   string
	path   *regexp.Regexp
	method string
}

// rules are those of all methods.
var rules = sync.OnceValue(func() (all []rule) {
	protoregistry.GlobalFiles.RangeFilesByPackage(vigilv1.File_vigil_v1_work_proto.Package(),
		func(f protoreflect.FileDescriptor) bool {
			for i := range f.Services().Len() {
				for j := range f.Services().Get(i).Methods().Len() {
					all = append(all, rulesOf(f.Services().Get(i).Methods().Get(j))...)
				}
			}
			return true
		})
	return all
})

func rulesOf(m protoreflect.MethodDescriptor) (all []rule) {
	if !proto.HasExtension(m.Options(), annotations.E_Http) {
		return nil // over gRPC only
	}
	name := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
	first := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	for _, r := range append([]*annotations.HttpRule{first}, first.GetAdditionalBindings()...) {
		verb, template := "", ""
		switch p := r.GetPattern().(type) {
		case *annotations.HttpRule_Get:
			verb, template = http.MethodGet, p.Get
		case *annotations.HttpRule_Put:
			verb, template = http.MethodPut, p.Put
		case *annotations.HttpRule_Post:
			verb, template = http.MethodPost, p.Post
		case *annotations.HttpRule_Delete:
			verb, template = http.MethodDelete, p.Delete
		case *annotations.HttpRule_Patch:
			verb, template = http.MethodPatch, p.Patch
		}
		all = append(all, rule{verb, pattern(template), name})
	}
	return all
}

// variable finds one in the template of a path, with what it matches.
var variable = regexp.MustCompile(`\{[a-z_.]+(=[^}]*)?\}`)

// pattern matches what a template matches.
func pattern(template string) *regexp.Regexp {
	text, last := "^", 0
	for _, at := range variable.FindAllStringIndex(template, -1) {
		text += regexp.QuoteMeta(template[last:at[0]])
		_, parts, given := strings.Cut(strings.Trim(template[at[0]:at[1]], "{}"), "=")
		if !given {
			parts = "*"
		}
		text += strings.ReplaceAll(regexp.QuoteMeta(parts), `\*`, `[^/]+`)
		last = at[1]
	}
	return regexp.MustCompile(text + regexp.QuoteMeta(template[last:]) + "$")
}
