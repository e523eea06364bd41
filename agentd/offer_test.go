package agentd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigil/agentd/runner"
	"vigil/agentd/shim"
)

// What a host offers is replaced while it runs: servers hear the new names, a broken one that was
// sound stays, and lives keep what they were started with.
func TestN10RunnersAreReplaced(t *testing.T) {
	of := func(name, file string, args ...string) runner.Runner {
		return runner.Runner{Name: name, Program: "sleep", User: runner.SameUser(), Args: args,
			File: filepath.Join("/etc/vigil/runners.d", file)}
	}
	offers := make(chan Offer)
	r, p := newPuppetRig(t, false, func(c *Config) {
		c.Runners = []runner.Runner{of("sleep", "sleep.yaml", "1"), of("slip", "slip.yaml", "2"), of("gone", "gone.yaml")}
		c.Offers = offers
	})
	if got := next(t, r.registers).GetRunners(); !slices.Equal(got, []string{"gone", "sleep", "slip"}) {
		t.Fatalf("at first %q", got)
	}
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)

	offers <- Offer{Runners: []runner.Runner{of("sleep", "sleep.yaml", "3"), of("new", "new.yaml")},
		Broken: []Broken{{Runner: "slip", File: "/etc/vigil/runners.d/slip.yaml", Why: "slip.yaml:1:1: odd"}}}
	word := next(t, r.registers)
	if got := word.GetRunners(); !slices.Equal(got, []string{"new", "sleep", "slip"}) {
		t.Errorf("then %q", got)
	}
	if w := word.GetWarnings(); !slices.Contains(w, "runner slip stays as it was: slip.yaml:1:1: odd") {
		t.Errorf("warnings %q", w)
	}
	if len(word.GetInventory()) != 1 {
		t.Errorf("inventory %v", word.GetInventory())
	}
	for _, want := range []string{`added=["new"]`, `gone=["gone"]`, `changed=["sleep"]`, `broken_and_kept=["slip"]`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %s", want)
		}
	}
	until(t, "the second registration", func() bool { return strings.Count(r.log.String(), "host registered") == 2 })
	for agent, c := range map[uint32]struct{ runner, arg string }{2: {"sleep", "3"}, 3: {"slip", "2"}} {
		r.stream.orders(t, order("start", agent, 1, c.runner))
		life := next(t, p.started)
		if got := life.spec.Args; !slices.Contains(got, c.arg) {
			t.Errorf("%s starts with %q", c.runner, got)
		}
		next(t, r.starts)
		life.exit <- shim.Exit{}
		next(t, r.exits)
	}
	r.stream.orders(t, order("start", 4, 1, "gone"))
	if x := next(t, r.exits); !x.GetStartFailed() || !strings.Contains(x.GetReason(), `"gone" is not declared`) {
		t.Errorf("exit %v", x)
	}
	one.exit <- shim.Exit{}
	if x := next(t, r.exits); x.GetAgent() != 1 || x.GetStartFailed() {
		t.Errorf("exit %v", x)
	}
}

// A whole file or folder that cannot be read any more takes away nothing of what it declared.
func TestN10UnreadableFilesKeepTheirRunners(t *testing.T) {
	of := func(name, file string) runner.Runner {
		return runner.Runner{Name: name, Program: "sleep", User: runner.SameUser(), File: file}
	}
	first := Offer{Runners: []runner.Runner{of("inline", "/etc/agentd.yaml"), of("a", "/etc/r/a.yaml"),
		of("b", "/etc/r/b.yaml")}}
	for _, c := range []struct {
		broken Broken
		want   []string
	}{
		{Broken{File: "/etc/agentd.yaml", Why: "odd"}, []string{"inline"}},
		{Broken{File: "/etc/r", Why: "odd"}, []string{"a", "b"}},
		{Broken{Runner: "renamed", File: "/etc/r/a.yaml", Why: "odd"}, []string{"a"}},
		{Broken{Runner: "inline", Why: "odd"}, []string{"inline"}},
		{Broken{Runner: "other", Why: "odd"}, nil},
	} {
		o := &offers{}
		made, _, err := o.compile(first)
		if err != nil {
			t.Fatal(err)
		}
		o.current.Store(made)
		made, kept, err := o.compile(Offer{Broken: []Broken{c.broken}})
		if err != nil || !slices.Equal(made.Names(), c.want) || !slices.Equal(kept, c.want) {
			t.Errorf("%+v: kept %q, %q, %v", c.broken, kept, made.Names(), err)
		}
	}
}
