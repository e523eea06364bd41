package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the page:", err)
		os.Exit(1)
	}
}

// libraries are the names under which sources import what is pinned in lib.
var libraries = map[string]string{
	"preact":               "preact/preact.mjs",
	"preact/hooks":         "preact/hooks.mjs",
	"preact/jsx-runtime":   "preact/jsxRuntime.mjs",
	"@preact/signals-core": "signals-core/signals-core.mjs",
	"@preact/signals":      "signals/signals.mjs",
	"uplot":                "uplot/uPlot.esm.js",
	"@xterm/xterm":         "xterm/xterm.mjs",
	"@xterm/addon-fit":     "xterm-fit/addon-fit.mjs",
}

// run works in the folder of this module, rpc/web/build.
func run() error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	if err := writeTypes(filepath.Join(root, "../gen/openapi/vigil.openapi.json"),
		filepath.Join(root, "src/messages.ts")); err != nil {
		return err
	}
	files, err := bundle(root)
	if err != nil {
		return err
	}
	if files["licences.txt"], err = licences(filepath.Join(root, "lib")); err != nil {
		return err
	}
	out := filepath.Join(root, "assets")
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bundle gives the files of the page by name. All names but that of the page itself carry a hash of the
// content, so that browsers may keep them for ever.
func bundle(root string) (map[string][]byte, error) {
	alias := map[string]string{}
	for name, file := range libraries {
		alias[name] = filepath.Join(root, "lib", file)
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(root, "src/app.tsx"), filepath.Join(root, "src/app.css"),
			filepath.Join(root, "src/icon.svg")},
		Bundle: true, Splitting: true, Format: api.FormatESModule, Outdir: filepath.Join(root, "assets"),
		EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]", AssetNames: "[name]-[hash]",
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Target: api.ES2022, JSX: api.JSXAutomatic, JSXImportSource: "preact", Alias: alias,
		LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8, LogLevel: api.LogLevelWarning,
		Loader: map[string]api.Loader{".svg": api.LoaderCopy}, TsconfigRaw: "{}",
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%d errors", len(result.Errors))
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	page, err := os.ReadFile(filepath.Join(root, "src/index.html"))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"app.js", "app.css", "icon.svg"} {
		made, err := hashed(files, name)
		if err != nil {
			return nil, err
		}
		page = []byte(strings.ReplaceAll(string(page), "assets/"+name, "assets/"+made))
	}
	files["index.html"] = page
	return files, nil
}

// hashed finds the file that was made for a name.
func hashed(files map[string][]byte, name string) (string, error) {
	ext := filepath.Ext(name)
	want := regexp.MustCompile("^" + regexp.QuoteMeta(strings.TrimSuffix(name, ext)) + "-[A-Z0-9]+" +
		regexp.QuoteMeta(ext) + "$")
	var found []string
	for file := range files {
		if want.MatchString(file) {
			found = append(found, file)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files were made for %s", len(found), name)
	}
	return found[0], nil
}

// licences joins those of the libraries.
func licences(lib string) ([]byte, error) {
	all, err := filepath.Glob(filepath.Join(lib, "*", "LICENSE"))
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	var b strings.Builder
	b.WriteString("The page of vigil contains these libraries.\n")
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "\n==== %s ====\n\n%s\n", filepath.Base(filepath.Dir(file)), strings.TrimSpace(string(text)))
	}
	return []byte(b.String()), nil
}
