package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func ptr(s string) *string { return &s }

func TestCompileNamesEachFault(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	open := filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{plain: 0o644, open: 0o777} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		field, want string
		r           Runner
	}{
		{"name", "is not a name", Runner{Name: "A b"}},
		{"program", "no program is named", Runner{}},
		{"program", "does not exist", Runner{Program: filepath.Join(dir, "none")}},
		{"program", "was not found in /usr/local/sbin", Runner{Program: "no-such-program-here"}},
		{"program", "depends on the current folder", Runner{Program: "./sh"}},
		{"program", "cannot be executed", Runner{Program: plain}},
		{"program", "anybody on this host could replace it", Runner{Program: open}},
		{"program", "is not a file", Runner{Program: dir}},
		{"directory", "depends on the current folder", Runner{Directory: "x"}},
		{"directory", "does not exist", Runner{Directory: filepath.Join(dir, "none")}},
		{"directory", "is not a folder", Runner{Directory: plain}},
		{"user", "there is no user", Runner{User: "no-such-user-here"}},
		{"env.A B", "not the name of a variable", Runner{Env: map[string]string{"A B": ""}}},
		{"env.VIGIL_X", "belongs to vigil", Runner{Env: map[string]string{"VIGIL_X": ""}}},
		{"env_allow[1]", "belongs to vigil", Runner{EnvAllow: []string{"PATH", "VIGIL_TOKEN"}}},
		{"stop_grace", "is negative", Runner{StopGrace: -1}},
		{"args[0]", "has no end", Runner{Args: []string{"${VIGIL_ROOM"}}},
		{"args[1]", "is not declared", Runner{Args: []string{"x", "${param.model}"}}},
		{"args[0]", "list of processes", Runner{Args: []string{"--token=${VIGIL_TOKEN}"}}},
		{"args[0]", "${HOME} is unknown", Runner{Args: []string{"${HOME}"}}},
		{"params.m.pattern", "missing closing", Runner{Params: map[string]Param{"m": {Pattern: "("}}}},
		{"params.m.default", "does not match", Runner{Params: map[string]Param{"m": {Default: ptr("--evil")}}}},
	} {
		if c.r.Name == "" {
			c.r.Name = "a"
		}
		if c.r.Program == "" && c.field != "program" {
			c.r.Program = "sh"
		}
		_, err := Compile([]Runner{c.r})
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Place() != "runners[0]."+c.field ||
			!strings.Contains(faults[0].Problem, c.want) || faults[0].Remedy == "" {
			t.Errorf("%s %q: %v", c.field, c.want, err)
		}
	}
	if _, err := Compile([]Runner{{Name: "a", Program: "sh"}, {Name: "a", Program: "sh"}}); err == nil ||
		!strings.Contains(err.Error(), `runners[1].name: "a" is declared twice`) {
		t.Errorf("twice: %v", err)
	}
}

func TestCommand(t *testing.T) {
	t.Setenv("HOME", "/home/x")
	t.Setenv("LET_IN", "yes")
	t.Setenv("KEPT_OUT", "no")
	set, err := Compile([]Runner{{Name: "a", Program: "sh", EnvAllow: []string{"LET_IN"}, Env: map[string]string{"FIXED": "1"},
		Args:   []string{"-c", "${param.what}", "a${VIGIL_ROLE}b${VIGIL_AGENT}", "$${VIGIL_ROOM}", "$x", "${param.tone}"},
		Params: map[string]Param{"what": {Pattern: ".*"}, "tone": {Default: ptr("calm")}}}})
	if err != nil {
		t.Fatal(err)
	}
	life := Life{Room: "demo", Role: "r", Agent: "demo/r", Token: "secret", Params: map[string]string{"what": "rm -rf / ; $(x) ${VIGIL_ROOM}"}}
	c, err := set.Command("a", life)
	if err != nil {
		t.Fatal(err)
	}
	// A value is one argument, whatever it holds, and is not looked into again.
	want := []string{"-c", "rm -rf / ; $(x) ${VIGIL_ROOM}", "arbdemo/r", "${VIGIL_ROOM}", "$x", "calm"}
	if !slices.Equal(c.Args, want) {
		t.Errorf("arguments %q, want %q", c.Args, want)
	}
	wantEnv := []string{"FIXED=1", "LET_IN=yes", "VIGIL_ADDR=", "VIGIL_AGENT=demo/r", "VIGIL_INCARNATION=", "VIGIL_RESUME=",
		"VIGIL_ROLE=r", "VIGIL_ROOM=demo", "VIGIL_TOKEN=secret"}
	if !slices.Equal(c.Env, wantEnv) {
		t.Errorf("environment %q, want %q", c.Env, wantEnv)
	}
	for _, bad := range []map[string]string{
		{},
		{"what": "x", "other": "y"},
		{"what": "x", "tone": "--option"},
		{"what": "x", "tone": "a b"},
		{"what": "two\nlines"},
		{"what": "zero\x00"},
		{"what": strings.Repeat("x", MaxValue+1)},
	} {
		life.Params = bad
		if _, err := set.Command("a", life); err == nil {
			t.Errorf("parameters %q were accepted", bad)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "a${b}c", "$${a}", "${", "$$${a}", "${a}${b}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		tpl, err := parse(arg)
		if err != nil {
			return
		}
		if !strings.Contains(arg, "${") && tpl.fill(nil) != arg {
			t.Errorf("%q became %q", arg, tpl.fill(nil))
		}
		if len(tpl)%2 != 1 {
			t.Errorf("%q has %d parts", arg, len(tpl))
		}
	})
}
