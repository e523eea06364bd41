package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "of the release, as 0.2 or 0.2+20260131120000.0123456789ab")
	at := flag.Int64("at", 0, "seconds since 1970 that all files carry")
	out := flag.String("out", "", "folder for the tarball")
	flag.Parse()
	if err := run(*version, *out, time.Unix(*at, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// run works in the folder rpc/sdk/typescript.
func run(version, out string, at time.Time) error {
	text, err := tarball(os.DirFS("."), version, at)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, tarballName(version)), text, 0o644)
}

func tarballName(version string) string { return "vigil-" + version + ".tgz" }

var (
	// versionForm is what vigil says of itself; npm wants a third number.
	versionForm = regexp.MustCompile(`^(\d+\.\d+)(\.\d+)?(\+[0-9a-z]+(?:\.[0-9a-z]+)*)?$`)
	// ownVersion is the line of package.json that says what it was made with.
	ownVersion = regexp.MustCompile(`(?m)^  "version": ".*",$`)
)

// npmVersion is a version of vigil in npm's form: 0.2 is 0.2.0.
func npmVersion(version string) (string, error) {
	m := versionForm.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %q: want two or three numbers, and perhaps + with letters and digits", version)
	}
	if m[2] == "" {
		m[2] = ".0"
	}
	return m[1] + m[2] + m[3], nil
}

// tarball gives the bytes of the package: what package.json names, in a folder package, as npm wants it.
func tarball(dir fs.FS, version string, at time.Time) ([]byte, error) {
	number, err := npmVersion(version)
	if err != nil {
		return nil, err
	}
	own, err := fs.ReadFile(dir, "package.json")
	if err != nil {
		return nil, err
	}
	if !ownVersion.Match(own) {
		return nil, errors.New(`package.json lacks the line "version": "..."`)
	}
	names := []string{"README.md", "package.json"}
	err = fs.WalkDir(dir, "dist", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".js") || strings.HasSuffix(path, ".d.ts")) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		if name == "package.json" {
			text = ownVersion.ReplaceAll(text, []byte(`  "version": "`+number+`",`))
		}
		head := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text)), ModTime: at,
			Format: tar.FormatUSTAR}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), packed.Close())
	return out.Bytes(), err
}
