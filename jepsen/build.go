//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"vigil/jepsen/stand"
)

// Names of the programs in the folder of a run.
const (
	programs = "programs"
	workers  = "client" // of workload sdk, as a machine has one
	olderOne = "vigil-older"
)

// prepare builds what a run needs into its folder.
func prepare(o *options, folder string) error {
	into := filepath.Join(folder, programs)
	if err := os.Mkdir(into, 0o755); err != nil {
		return fmt.Errorf("make folder of programs: %w", err)
	}
	if err := buildStand(into, o.vigil); err != nil {
		return err
	}
	if o.older == "" {
		return nil
	}
	if o.year {
		if err := buildRebuilt(into); err != nil {
			return err
		}
	}
	if info, err := os.Stat(o.older); err == nil && info.Mode().IsRegular() {
		return copyProgram(o.older, filepath.Join(into, olderOne))
	}
	return buildRevision(o.older, filepath.Join(into, olderOne))
}

// buildRevision builds vigil as it was at a revision of git.
func buildRevision(revision, program string) (err error) {
	commit, err := git("rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if err != nil {
		return fmt.Errorf("-older %s: neither a file nor a revision that this clone has (a shallow "+
			"clone has few: git fetch --unshallow): %w", revision, err)
	}
	tree, err := os.MkdirTemp("", "vigil-older-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	archive := filepath.Join(tree, "tree.tar")
	if _, err := git("archive", "--output", archive, commit); err != nil {
		return fmt.Errorf("take revision %s out of git: %w", revision, err)
	}
	for _, args := range [][]string{{"tar", "-xf", archive, "-C", tree},
		// What has been built out of no clone has no version: plans of upgrades must tell it from the newer one.
		{"go", "build", "-trimpath", "-tags", "stand", "-ldflags", "-X vigil/cmd/vigil/cli.release=" + commit[:12],
			"-o", program, "./cmd/vigil"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = tree
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build revision %s: %s: %w: %s", revision, args[0], err, out)
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// revision is what is tested, with a plus when files have been changed since.
func revision() string {
	commit, err := git("rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err == nil && changed != "" {
		commit += "+"
	}
	return commit
}

// buildStand builds the programs of the stand; vigil is the program under test, "" to
// build it so that the clocks of machines can be set.
func buildStand(into, vigil string) error {
	var stepped error
	under := filepath.Join(into, "vigil")
	if vigil == "" {
		stepped = stand.BuildStepped(under)
	} else {
		stepped = copyProgram(vigil, under)
	}
	if stepped != nil {
		return stepped
	}
	_, err := stand.Build(into, under)
	return err
}

// standIn is a stand of programs that buildStand has built. It speaks in clear when the older one knows no identities.
func standIn(programs string, o *options) (_ stand.Config, err error) {
	c := stand.Config{Vigil: filepath.Join(programs, "vigil"), Ticker: filepath.Join(programs, "ticker"),
		Box: filepath.Join(programs, "box")}
	if o.older != "" {
		c.ServerProgram = filepath.Join(programs, olderOne)
		knows := false
		if knows, err = stand.KnowsIdentities(c.ServerProgram); err == nil {
			c.Insecure = !knows
		}
	}
	return c, err
}
