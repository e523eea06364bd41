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

// The wheel is installed into an empty environment and says its version; two are the same bytes.
func TestWheelIsInstalled(t *testing.T) {
	const version = "7.3+20260131120000.0123456789ab"
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	dir := os.DirFS("..").(readFS)
	text, err := wheel(dir, version, at)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := wheel(dir, version, at); err != nil || !bytes.Equal(text, again) {
		t.Errorf("two wheels differ (%v)", err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the wheel is not installed: no python3")
	}
	home := t.TempDir()
	file, env := filepath.Join(home, wheelName(version)), filepath.Join(home, "env")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", env).CombinedOutput(); err != nil {
		t.Skipf("the wheel is not installed: no venv: %s", out)
	}
	python := filepath.Join(env, "bin", "python")
	out, err := exec.Command("python3", "-m", "pip", "--python", python, "install", "--no-index", "--no-deps",
		"--no-compile", file).CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "No module named pip") || strings.Contains(string(out), "no such option") {
			t.Skipf("the wheel is not installed: no pip that installs for another python: %s", out)
		}
		t.Fatalf("pip: %v\n%s", err, out)
	}
	cmd := exec.Command(python, "-c", "import vigil, vigil._messages; print(vigil.__version__, vigil.__file__)")
	cmd.Dir = home
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), version+" "+env) {
		t.Errorf("the installed package says %s (%v)", said, err)
	}
}

// What Python takes for no version is refused.
func TestWheelRefusesStrangeVersions(t *testing.T) {
	for _, version := range []string{"", "0.1~beta", "v1", "0.1+a/b"} {
		if _, err := wheel(os.DirFS("..").(readFS), version, time.Unix(0, 0)); err == nil {
			t.Errorf("version %q was taken", version)
		}
	}
}
