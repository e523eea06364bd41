package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "of the release, as 0.2 or 0.2+20260131120000.0123456789ab")
	at := flag.Int64("at", 0, "seconds since 1970 that all files carry")
	out := flag.String("out", "", "folder for the wheel")
	flag.Parse()
	if err := run(*version, *out, time.Unix(*at, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// run works in the folder rpc/sdk/python.
func run(version, out string, at time.Time) error {
	text, err := wheel(os.DirFS(".").(readFS), version, at)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, wheelName(version)), text, 0o644)
}

// readFS is a folder that is read by names.
type readFS interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]os.DirEntry, error)
}

func wheelName(version string) string { return "vigil-" + version + "-py3-none-any.whl" }

var (
	// versionForm is what both vigil and Python take for a version.
	versionForm = regexp.MustCompile(`^\d+(\.\d+)*(\+[0-9a-z]+(\.[0-9a-z]+)*)?$`)
	// ownVersion is the line of the package that says what it was made with.
	ownVersion = regexp.MustCompile(`(?m)^__version__ = ".*"$`)
)

const metadata = `Metadata-Version: 2.1
Name: vigil
Version: %s
Summary: Workers and clients of vigil, which keeps fleets of AI agents alive
Requires-Python: >=3.9
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
`

const tags = `Wheel-Version: 1.0
Generator: vigil
Root-Is-Purelib: true
Tag: py3-none-any
`

// wheel gives the bytes of the package: a zip archive, of which RECORD has the sums.
func wheel(dir readFS, version string, at time.Time) ([]byte, error) {
	if !versionForm.MatchString(version) {
		return nil, fmt.Errorf("version %q: want digits and dots, and perhaps + with letters and digits", version)
	}
	names, err := dir.ReadDir("vigil")
	if err != nil {
		return nil, err
	}
	info := "vigil-" + version + ".dist-info/"
	files := map[string][]byte{info + "METADATA": []byte(fmt.Sprintf(metadata, version)), info + "WHEEL": []byte(tags)}
	for _, f := range names {
		if f.IsDir() || filepath.Ext(f.Name()) != ".py" && f.Name() != "py.typed" {
			continue
		}
		text, err := dir.ReadFile("vigil/" + f.Name())
		if err != nil {
			return nil, err
		}
		if f.Name() == "__init__.py" {
			if !ownVersion.Match(text) {
				return nil, fmt.Errorf("vigil/__init__.py lacks the line __version__ = \"...\"")
			}
			text = ownVersion.ReplaceAll(text, []byte(`__version__ = "`+version+`"`))
		}
		files["vigil/"+f.Name()] = text
	}
	return packed(files, info+"RECORD", at)
}

// packed writes the files in the order of their names, and their record.
func packed(files map[string][]byte, record string, at time.Time) ([]byte, error) {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var sums strings.Builder
	for _, name := range names {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&sums, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&sums, "%s,,\n", record)
	files[record] = []byte(sums.String())
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range append(names, record) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		h.SetMode(0o644)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
