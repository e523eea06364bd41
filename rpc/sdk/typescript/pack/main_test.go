package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tarball is installed into an empty folder without a network, where a program finds it in its version; two are
// the same bytes.
func TestTarballIsInstalled(t *testing.T) {
	const version = "7.3+20260131120000.0123456789ab"
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	text, err := tarball(os.DirFS(".."), version, at)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := tarball(os.DirFS(".."), version, at); err != nil || !bytes.Equal(text, again) {
		t.Errorf("two tarballs differ (%v)", err)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the tarball is not installed: no %s", program)
		}
	}
	home := t.TempDir()
	run := func(program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "npm_config_cache="+filepath.Join(home, "cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(home, tarballName(version)), text, 0o644); err != nil {
		t.Fatal(err)
	}
	run("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "./"+tarballName(version))
	said := run("node", "--input-type=module", "--eval", `import { Client, Retry, worker } from "vigil";
import { readFileSync } from "node:fs";
const own = JSON.parse(readFileSync("node_modules/vigil/package.json", "utf8"));
console.log(own.version, typeof Client, typeof Retry, typeof worker, own.dependencies ?? "none");`)
	if said != "7.3.0+20260131120000.0123456789ab function function function none\n" {
		t.Errorf("the installed package says %s", said)
	}
	if _, err := os.Stat(filepath.Join(home, "node_modules/vigil/dist/index.d.ts")); err != nil {
		t.Errorf("it has no types: %v", err)
	}
}

// What npm takes for no version is refused, and two numbers get a third.
func TestVersionsInTheFormOfNpm(t *testing.T) {
	for version, want := range map[string]string{"0.2": "0.2.0", "0.2.1": "0.2.1",
		"1.0+20260131.ab": "1.0.0+20260131.ab",
		"":                "", "1": "", "0.1~beta": "", "v1.0": "", "0.1+a/b": ""} {
		if have, err := npmVersion(version); have != want || (err == nil) != (want != "") {
			t.Errorf("version %q is %q (%v), want %q", version, have, err, want)
		}
	}
}
