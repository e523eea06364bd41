package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is one for which a program is built. The client has no commands that serve.
type platform struct{ system, machine string }

// platforms are all of them. Servers and hosts run on Linux.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"}}

func (p platform) String() string { return p.system + "/" + p.machine }
func (p platform) client() bool   { return p.system != "linux" }

// program is the name of the program's file.
func (p platform) program() string {
	if p.system == "windows" {
		return "vigil.exe"
	}
	return "vigil"
}

// newest finds the heading of the newest version in the changelog.
var newest = regexp.MustCompile(`(?m)^## (\d+\.\d+(?:\.\d+)?),`)

// releaseOf asks git for the commit and the changelog for the version. A commit that is not the one
// that wrote the heading is a state on the way to the next one, and sorts between the two.
func releaseOf(root string) (*release, error) {
	text, err := git(root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, unix, _ := strings.Cut(text, " ")
	seconds, err := strconv.ParseInt(unix, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git tells the time of the commit as %q", unix)
	}
	if dirty, err := git(root, "status", "--porcelain", "--untracked-files=no"); err != nil {
		return nil, err
	} else if dirty != "" {
		return nil, fmt.Errorf("the checkout differs from its commit, so nobody could make this again: "+
			"commit first what git status shows:\n%s", dirty)
	}
	log, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	heading := newest.FindStringSubmatch(string(log))
	if heading == nil {
		return nil, errors.New("CHANGELOG.md has no heading of a version, such as: ## 0.1, 2026-01-31")
	}
	r := &release{root: root, version: heading[1], commit: commit, at: time.Unix(seconds, 0).UTC()}
	wrote, err := git(root, "log", "--reverse", "--format=%H", "-S"+strings.TrimSuffix(heading[0], ","),
		"--", "CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	if first, _, _ := strings.Cut(wrote, "\n"); first != commit {
		r.version += "+" + r.at.Format("20060102150405") + "." + commit[:12]
	}
	return r, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	return said(cmd)
}

// said runs a program and gives what it says.
func said(cmd *exec.Cmd) (string, error) {
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, complaint.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// make fills the folder out with all files, or with those of the platforms that only names.
func (r *release) make(out, only string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "vigil-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	texts := filepath.Join(work, "texts")
	if err := r.writeTexts(texts, work); err != nil {
		return err
	}
	chosen := strings.FieldsFunc(only, func(c rune) bool { return c == ',' })
	for _, p := range platforms {
		if len(chosen) > 0 && !slices.Contains(chosen, p.String()) {
			continue
		}
		fmt.Fprintln(os.Stderr, "dist:", p)
		program := filepath.Join(work, p.system+"-"+p.machine, p.program())
		if err := r.build(p, program); err != nil {
			return err
		}
		if err := r.archive(p, program, texts, out); err != nil {
			return err
		}
		if err := r.parts(p, program, out); err != nil {
			return err
		}
		if p.client() {
			continue
		}
		if err := r.packages(p, program, texts, out); err != nil {
			return err
		}
	}
	for _, language := range []string{"python", "typescript"} {
		if err := r.sdk(language, out); err != nil {
			return err
		}
	}
	return writeSums(out)
}

// sdk makes the package for a language: a wheel, or a tarball of npm.
func (r *release) sdk(language, out string) error {
	cmd := exec.Command("go", "run", "./pack", "-version", r.version,
		"-at", strconv.FormatInt(r.at.Unix(), 10), "-out", out)
	cmd.Dir = filepath.Join(r.root, "rpc/sdk", language)
	_, err := said(cmd)
	return err
}

// build compiles the program: without C, so that it runs on every machine of its kind.
func (r *release) build(p platform, program string, tags ...string) error {
	if p.client() {
		tags = append(tags, "client")
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+r.linked(),
		"-tags="+strings.Join(tags, ","), "-o", program, "./cmd/vigil")
	cmd.Dir = r.root
	// What the caller has set for his own builds must not change the bytes. What only debuggers read is
	// stripped anyway; left out from the start, CI and this compile in one form, and share what is compiled.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-gcflags=all=-dwarf=false", "GOWORK=off", "GOOS="+p.system,
		"GOARCH="+p.machine, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	_, err := said(cmd)
	return err
}

// linked tells the linker what the program says of itself: git is asked once, here, so that a checkout of any
// form (a work tree of its own, a shallow clone) gives the same bytes.
func (r *release) linked() string {
	text := "-s -w"
	for _, said := range []string{"release=" + r.version, "commit=" + r.commit, "date=" + r.at.Format(time.RFC3339)} {
		text += " -X=vigil/cmd/vigil/cli." + said
	}
	return text
}

// writeTexts makes manuals and completions, by the program that is described.
func (r *release) writeTexts(texts, work string) error {
	if err := os.MkdirAll(texts, 0o755); err != nil {
		return err
	}
	program := filepath.Join(work, "manuals")
	here := platform{"linux", machineHere()}
	if err := r.build(here, program, "manuals"); err != nil {
		return err
	}
	cmd := exec.Command(program, "manuals", filepath.Join(texts, "man"))
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.at.Unix(), 10))
	if _, err := said(cmd); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := said(exec.Command(program, "completion", shell))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(texts, shell), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sumsFile names the sums of all files beside it, in the form of sha256sum.
const sumsFile = "SHA256SUMS"

func writeSums(out string) error {
	names, err := namesIn(out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(&text, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	return os.WriteFile(filepath.Join(out, sumsFile), []byte(text.String()), 0o644)
}

// same compares two folders by their sums, which name every file.
func same(one, two string) error {
	a, err := os.ReadFile(filepath.Join(one, sumsFile))
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(two, sumsFile))
	if err != nil {
		return err
	}
	if string(a) != string(b) {
		return fmt.Errorf("two builds of one commit differ:\n%s\nand\n%s", a, b)
	}
	fmt.Fprintln(os.Stderr, "dist: two builds, the same bytes")
	return nil
}

func namesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.Name() != sumsFile {
			names = append(names, e.Name())
		}
	}
	return names, err
}
