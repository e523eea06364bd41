package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const made = "../gen/openapi/vigil.openapi.json"

func load(t *testing.T) object {
	t.Helper()
	text, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	var d object
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// N15: every call has a summary and an operationId of its own and answers errors in the shape that
// they really have; the names of schemas are those of the messages.
func TestN15EveryCallIsDescribed(t *testing.T) {
	d := load(t)
	if d["openapi"] != "3.1.0" {
		t.Errorf("openapi is %v", d["openapi"])
	}
	ids, summaries := map[string]bool{}, map[string]string{}
	for path, methods := range d["paths"].(object) {
		for method, v := range methods.(object) {
			op := v.(object)
			id, _ := op["operationId"].(string)
			summary, _ := op["summary"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: operationId %q is missing or used twice", method, path, id)
			}
			if other := summaries[summary]; len(summary) < 10 || other != "" {
				t.Errorf("%s: summary %q is missing or also that of %s", id, summary, other)
			}
			ids[id], summaries[summary] = true, id
			text, err := json.Marshal(op["responses"].(object)["4XX"])
			if err != nil || !bytes.Contains(text, []byte("#/components/schemas/Error")) {
				t.Errorf("%s: errors are %s", id, text)
			}
		}
	}
	if len(ids) < 60 {
		t.Errorf("%d calls", len(ids))
	}
	for name := range d["components"].(object)["schemas"].(object) {
		if strings.HasPrefix(name, "v1") || strings.HasPrefix(name, "vigilV1") || strings.HasPrefix(name, "google") {
			t.Errorf("a schema is called %s", name)
		}
	}
}

// N15: the schemas say which fields are always there, and enums have the names that answers have.
func TestN15FieldsThatAreAlwaysThere(t *testing.T) {
	schemas := load(t)["components"].(object)["schemas"].(object)
	for schema, fields := range map[string][]string{"Error": {"code", "message"},
		"ListTasksResponse": {"tasks", "more"},
		"Task":              {"priority", "attempt", "late_results"},
		"StatusResponse":    {"servers", "tasks", "agents_live"}} {
		required, _ := schemas[schema].(object)["required"].([]any)
		for _, f := range fields {
			if !slices.Contains(required, any(f)) {
				t.Errorf("%s does not require %s: %v", schema, f, required)
			}
		}
		for _, f := range []any{"next", "parent", "result", "in_state", "leader"} {
			if slices.Contains(required, f) {
				t.Errorf("%s requires %s, which may be absent", schema, f)
			}
		}
	}
	states := schemas["TaskState"].(object)["enum"].([]any)
	if len(states) != 8 || !slices.Contains(states, any("IN_PROGRESS")) {
		t.Errorf("states %v", states)
	}
}

// N15: two validators from npm take the document, and a client that is made from it compiles. Without
// Node.js or a registry the test is skipped.
func TestN15ClientFromNPM(t *testing.T) {
	if os.Getenv("VIGIL_NPM") == "" {
		t.Skip("takes packages from the npm registry: set VIGIL_NPM=1 to run it")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "client"))); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), document, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
		out, err := cmd.CombinedOutput()
		return out, errors.Join(err, ctx.Err())
	}
	out, err := run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
		"--fetch-timeout=30000")
	for _, wrong := range []string{"EUSAGE", "EINTEGRITY", "EJSONPARSE"} {
		if err != nil && bytes.Contains(out, []byte(wrong)) {
			t.Fatalf("npm ci: %v: %s", err, out)
		}
	}
	if err != nil {
		t.Skipf("npm cannot install the tools: %v: %s", err, out)
	}
	for _, step := range [][]string{
		{"node_modules/.bin/redocly", "lint", "openapi.json"},
		{"node", "validate.mjs"},
		{"node_modules/.bin/openapi-typescript", "openapi.json", "--output", "api.d.ts"},
		{"node_modules/.bin/tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "esnext",
			"--moduleResolution", "bundler", "--lib", "es2022,dom", "client.ts"},
	} {
		if out, err := run(step...); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
}
