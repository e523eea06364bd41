package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// protoc promises plugins that each file comes after what it imports, and the head of the OpenAPI document hangs on
// the first one.
func TestFilesComeAfterWhatTheyImport(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.proto": `import "c.proto"; import "google/protobuf/duration.proto"; message A { C c = 1; google.protobuf.Duration d = 2; }`,
		"b.proto": `message B {}`,
		"c.proto": `import "b.proto"; message C { B b = 1; }`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(`syntax = "proto3"; `+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := protoFiles(folder)
	if want := []string{"a.proto", "b.proto", "c.proto"}; err != nil || !slices.Equal(names, want) {
		t.Fatalf("found %q, %v, want %q", names, err, want)
	}
	request, err := compile(t.Context(), names, folder)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"b.proto", "c.proto", "a.proto"}; !slices.Equal(request.FileToGenerate, want) {
		t.Errorf("to generate are %q, want %q", request.FileToGenerate, want)
	}
	var all []string
	for _, f := range request.ProtoFile {
		all = append(all, f.GetName())
	}
	if want := []string{"b.proto", "c.proto", "google/protobuf/duration.proto", "a.proto"}; !slices.Equal(all, want) {
		t.Errorf("handed over are %q, want %q", all, want)
	}
	if _, err := protoFiles(t.TempDir()); err == nil {
		t.Error("an empty folder passes")
	}
}

// A plugin that is not what was thought must not write elsewhere, nor leave something out without a word.
func TestWhatAPluginMayNotMake(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		part  *string
		twice bool
		taken bool
	}{
		"a file":      {file: "vigilv1/work.pb.go", taken: true},
		"outside":     {file: "../main.go"},
		"the root":    {file: "/etc/passwd"},
		"a part":      {file: "vigilv1/work.pb.go", part: proto.String("imports")},
		"once before": {file: "vigilv1/work.pb.go", twice: true},
	} {
		why := refused(c.file, c.twice, &pluginpb.CodeGeneratorResponse_File{InsertionPoint: c.part})
		if (why == "") != c.taken {
			t.Errorf("%s: refused: %q", name, why)
		}
	}
}
