package typescript

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The package's own tests, in Node.js.
func TestInNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("the tests in test are left out: no node")
	}
	files, err := filepath.Glob("test/*.test.mjs")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files of tests, %v", len(files), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "node", append([]string{"--test"}, files...)...).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("# fail 0\n")) || bytes.Contains(out, []byte("# pass 0\n")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// What is shipped is what the compiler of the lock file makes of src, byte by byte, but for what `make generate`
// makes; examples, and what users write, have its types. Without a registry the test is skipped.
func TestDistFromNPM(t *testing.T) {
	dir := fromNPM(t, "build", "src/*", "dist/*", "test/*", "examples/*.js", "package.json", "tsconfig*.json",
		"build/*.json")
	for _, args := range [][]string{{"-p", ".", "--outDir", "again"}, {"-p", "tsconfig.examples.json"}} {
		if out, err := run(t, dir, append([]string{"build/node_modules/.bin/tsc"}, args...)...); err != nil {
			t.Fatalf("tsc %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	compare(t, filepath.Join(dir, "again"), "dist")
}

// mistakes are calls that the types of each package refuse, as the comments above them expect.
const mistakes = `import { query } from "@anthropic-ai/claude-agent-sdk";
import { interrupt } from "@langchain/langgraph";
import { Agent, run } from "@openai/agents";
import { worker } from "vigil";

// @ts-expect-error
query({ prompt: 1 });
// @ts-expect-error
interrupt();
// @ts-expect-error
run(new Agent({ name: "Assistant" }), 1);
// @ts-expect-error
worker("web/agent", 1);
`

// Workers around agents of others have the types of their packages, in the versions of their lock file.
func TestModelExamplesFromNPM(t *testing.T) {
	const models = "examples/models"
	dir := fromNPM(t, models, "dist/*", "package.json", models+"/*.js", models+"/*.json")
	if err := os.WriteFile(filepath.Join(dir, models, "mistakes.js"), []byte(mistakes), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, filepath.Join(dir, models), "node_modules/.bin/tsc", "-p", "."); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
}

// fromNPM copies files of this package into a folder, installs there what the lock file in one of its folders says,
// and gives it. Nothing of packages is run then, and optional ones are left out: the large programs of the Claude
// Agent SDK. What OpenAI's calls optional, and cannot do without, is named in package.json.
func fromNPM(t *testing.T, folder string, files ...string) (dir string) {
	t.Helper()
	if os.Getenv("VIGIL_NPM") == "" {
		t.Skip("takes packages from the npm registry: set VIGIL_NPM=1 to run it")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	dir = t.TempDir()
	for _, pattern := range files {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err == nil {
				err = errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700),
					os.WriteFile(filepath.Join(dir, name), text, 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := run(t, filepath.Join(dir, folder), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--omit=optional", "--fetch-retries=1", "--fetch-timeout=30000")
	for _, wrong := range []string{"EUSAGE", "EINTEGRITY", "EJSONPARSE"} {
		if err != nil && bytes.Contains(out, []byte(wrong)) {
			t.Fatalf("npm ci: %v: %s", err, out)
		}
	}
	if err != nil {
		t.Skipf("npm cannot install what %s needs: %v: %s", folder, err, out)
	}
	return dir
}

// run runs a program to its end and gives what it printed.
func run(t *testing.T, dir string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	return out, errors.Join(err, ctx.Err())
}

func compare(t *testing.T, made, shipped string) {
	t.Helper()
	one, two := textsOf(t, made), textsOf(t, shipped)
	if len(one) < 20 {
		t.Errorf("only %d files were made", len(one))
	}
	generated := regexp.MustCompile(`^(messages|calls)\.`)
	for name, text := range one {
		if two[name] != text && !generated.MatchString(name) {
			t.Errorf("%s differs from what is made of src: run make sdk", name)
		}
		delete(two, name)
	}
	for name := range two {
		t.Errorf("%s is made of nothing: run make sdk", name)
	}
}

func textsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, path))
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
