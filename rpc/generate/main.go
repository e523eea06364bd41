package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// Folders, from rpc.
const (
	sources  = "proto"
	vendored = "third_party/googleapis"
	into     = "gen"
)

// plugin is a program that makes files of the API, and where they go beneath gen.
type plugin struct{ name, folder, params string }

var plugins = []plugin{
	{"protoc-gen-go", "", "module=vigil/rpc/gen"},
	{"protoc-gen-go-grpc", "", "module=vigil/rpc/gen"},
	{"protoc-gen-grpc-gateway", "", "module=vigil/rpc/gen"},
	// One document for the whole public API; its fields are named as in the .proto files.
	{"protoc-gen-openapiv2", "openapi", "allow_merge=true,merge_file_name=vigil,json_names_for_fields=false," +
		"openapi_configuration=openapi.yaml"},
}

func main() {
	if err := generate(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: generate PLUGINS")
	}
	names, err := protoFiles(sources)
	if err != nil {
		return err
	}
	request, err := compile(ctx, names, sources, vendored)
	if err != nil {
		return err
	}
	made := map[string]string{}
	for _, p := range plugins {
		if err := p.run(ctx, args[0], request, made); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return replace(into, made)
}

// protoFiles lists the .proto files beneath a folder by their names in it, in the order of these.
func protoFiles(folder string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".proto") {
			names = append(names, name)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s holds no .proto file", folder)
	}
	return names, err
}

// compile makes of files the request for a plugin, without its parameter. All that they import is in it, too, each
// file after what it imports itself: a document of all begins with what all others rest on. Files are looked for in
// the folders.
func compile(ctx context.Context, names []string, folders ...string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: folders}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(f))
		if slices.Contains(names, f.Path()) {
			request.FileToGenerate = append(request.FileToGenerate, f.Path())
		}
	}
	for _, f := range files {
		add(f)
	}
	return request, nil
}

// run has a plugin answer a request and adds its files, by their names beneath gen, to those that were made.
func (p plugin) run(ctx context.Context, programs string, request *pluginpb.CodeGeneratorRequest,
	made map[string]string) error {
	request.Parameter = proto.String(p.params)
	in, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(programs, p.name))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	answer := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	if answer.Error != nil {
		return errors.New(answer.GetError())
	}
	for _, f := range answer.GetFile() {
		name := filepath.Join(p.folder, f.GetName())
		_, twice := made[name]
		if why := refused(name, twice, f); why != "" {
			return fmt.Errorf("file %q: %s", name, why)
		}
		made[name] = f.GetContent()
	}
	return nil
}

// refused says why a file of an answer is not taken, "" when it is.
func refused(name string, twice bool, f *pluginpb.CodeGeneratorResponse_File) string {
	switch {
	case !filepath.IsLocal(name):
		return "it lies outside of " + into
	case f.GetInsertionPoint() != "":
		return "a part of another file, which is not provided for"
	case twice:
		return "it was made already"
	}
	return ""
}

// replace writes files into a folder, which holds nothing else then.
func replace(folder string, files map[string]string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
