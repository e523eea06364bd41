package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
)

const rpc = "../.."

func model(t *testing.T) *api {
	t.Helper()
	a, err := read(filepath.Join(rpc, document))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is in the tree is what the document and the tables of rpc/code make.
func TestFilesAreNew(t *testing.T) {
	files, err := made(filepath.Join(rpc, document))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(rpc, "sdk", name)); err != nil || string(got) != want {
			t.Errorf("%s differs from what is made (%v); run go run ./sdk/generate in rpc", name, err)
		}
	}
}

// An SDK can make every call that has a path, and knows of each when it may be repeated.
func TestEveryCallOverHTTPIsThere(t *testing.T) {
	known := map[string]call{}
	for _, c := range model(t).calls {
		known[c.name] = c
	}
	found := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("vigil.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				m := f.Services().Get(i).Methods().Get(j)
				if !proto.HasExtension(m.Options(), annotations.E_Http) {
					continue
				}
				found++
				name := string(m.Parent().Name()) + "." + string(m.Name())
				c, ok := known[name]
				if !ok || c.nature == code.Unknown || c.streams != m.IsStreamingServer() {
					t.Errorf("%s: %+v, there: %t", name, c, ok)
				}
			}
		}
		return true
	})
	if found != len(known) || found < 80 {
		t.Errorf("%d calls, %d are known", found, len(known))
	}
}

// N22: what is said under a write id, what is never repeated, and what only after a proof.
func TestWhatMayBeRepeated(t *testing.T) {
	want := map[string]struct {
		repeat   string
		numbered bool
	}{"Fleet.CreateTask": {"always", true}, "Work.Next": {"always", true}, "Work.Renew": {"never", false},
		"Work.Wait": {"never", false}, "Fleet.GetTask": {"always", false}, "Cluster.AddServer": {"unsent", false},
		"Fleet.WatchEvents": {"never", false}}
	for _, c := range model(t).calls {
		if w, ok := want[c.name]; ok && (c.repeats() != w.repeat || c.numbered != w.numbered) {
			t.Errorf("%s: repeated %s, numbered %t", c.name, c.repeats(), c.numbered)
		}
		delete(want, c.name)
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

// A name means one thing in an SDK: no message is called as an error or as a type of the head.
func TestNamesMeanOneThing(t *testing.T) {
	a := model(t)
	taken := map[string]string{"VigilError": "the base of errors"}
	types := regexp.MustCompile(`(?m)^export type (\w+)|^(\w+) = `)
	for _, m := range types.FindAllStringSubmatch(typescriptHead+pythonHead, -1) {
		taken[m[1]+m[2]] = "a type of the head"
	}
	for _, r := range code.Rows() {
		taken[class(r.Name)] = "an error"
	}
	for _, m := range a.messages {
		if what := taken[m.name]; what != "" {
			t.Errorf("message %s has the name of %s", m.name, what)
		}
	}
	for _, e := range a.enums {
		if what := taken[e.name]; what != "" {
			t.Errorf("enum %s has the name of %s", e.name, what)
		}
	}
}

// Every field that may be absent is marked so, and spans are told from other text.
func TestFieldsOfMessages(t *testing.T) {
	want := map[string]field{
		"Task.late_results":       {needed: true, of: kind{ref: "LateResult", list: true}},
		"Task.id":                 {needed: true, of: kind{word: wordWide}},
		"Task.expect_left":        {of: kind{word: wordSpan}},
		"WaitRequest.max_wait":    {of: kind{word: wordSpan}},
		"CreateTaskRequest.room":  {needed: true, of: kind{word: wordText}},
		"ListTasksRequest.states": {of: kind{ref: "TaskState", list: true}},
	}
	whose := map[string]bool{"Speaker": true, "WorkRequest": true, "Task": false, "RoleSpec": false}
	for _, m := range model(t).messages {
		if asked, ok := whose[m.name]; ok && asked != m.asked {
			t.Errorf("%s is only asked for: %t", m.name, m.asked)
		}
		for _, f := range m.fields {
			w, ok := want[m.name+"."+f.name]
			if ok && (f.needed != w.needed || f.of != w.of) {
				t.Errorf("%s.%s: %+v", m.name, f.name, f)
			}
			delete(want, m.name+"."+f.name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

// What the generator knows by itself of answers is about fields that they have.
func TestFieldsThatAreNeverZero(t *testing.T) {
	names := map[string]bool{}
	for _, m := range model(t).messages {
		for _, f := range m.fields {
			names[m.name+"."+f.name] = f.needed
		}
	}
	for message, fields := range neverZero {
		for _, f := range fields {
			if !names[message+"."+f] {
				t.Errorf("%s.%s may be absent, or there is none", message, f)
			}
		}
	}
}

// The package for TypeScript was made of the sources that are there.
func TestPackageIsOfTheseSources(t *testing.T) {
	folder := filepath.Join(rpc, "sdk/typescript")
	want, err := seal(folder)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile(filepath.Join(folder, sealFile)); err != nil || string(have) != want {
		t.Errorf("dist is older than src (%v): run make sdk", err)
	}
}
