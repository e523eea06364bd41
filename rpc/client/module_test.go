package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// worker is what somebody writes who imports the client, in a module of their own.
const worker = `package main

import (
	"context"
	"errors"
	"fmt"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func main() {
	c, err := client.Open(client.Config{Addrs: []string{"127.0.0.1:1"}, Name: "mine"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = vigilv1.NewClusterClient(c).Status(ctx, &vigilv1.StatusRequest{})
	fmt.Println("asked:", err != nil, errors.Is(err, client.ErrNotFound))
}
`

// A program in another module is built with the client, and runs; nothing internal is in its way. With
// VIGIL_PLATFORMS it is built for all platforms of Go's first port class, and some more.
func TestModuleOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// What it requires is what vigil requires, so no proxy is asked.
	_, rest, _ := strings.Cut(string(own), "\n")
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.go": worker, "go.sum": string(sums),
		"go.mod": "module example.com/mine\n" + rest + "\nrequire vigil v0.0.0\n\nreplace vigil => " + root + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	platforms := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if os.Getenv("VIGIL_PLATFORMS") != "" {
		platforms = append(platforms, "linux/arm64", "linux/386", "darwin/arm64", "darwin/amd64",
			"windows/amd64", "windows/arm64", "freebsd/amd64", "openbsd/amd64")
	}
	for i, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		program := filepath.Join(dir, "mine")
		build := exec.Command("go", "build", "-mod=mod", "-o", program, ".")
		build.Dir = dir
		build.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", platform, err, out)
		}
		if i > 0 {
			continue
		}
		if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "asked: true false\n" {
			t.Errorf("it printed %q, %v", out, err)
		}
	}
}
