package sim

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/fsm/noun"
)

var docFlag = flag.String("sim.doc", "", "document into which TestFalseAlarms and TestTrueAlarms write their figures")

// document writes the figures of one run between its marks of the document, unless
// anything was wrong.
func document(t *testing.T, run, revision string, w *world, table string) {
	t.Helper()
	if *docFlag == "" || t.Failed() {
		return
	}
	head := fmt.Sprintf("Seed %d, on %s, revision %s, on one of %d processors of %s, %s of processor time.\n",
		w.cfg.seed, time.Now().Format(time.DateOnly),
		revision, runtime.NumCPU(), runtime.GOARCH, processor().Round(time.Second))
	if err := insert(*docFlag, run, head+table); err != nil {
		t.Fatal(err)
	}
}

// built is the revision that is tried, asked for before the run.
func built(t *testing.T) string {
	t.Helper()
	if *docFlag == "" {
		return ""
	}
	revision, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(revision))
}

// processor is the time of processors that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// insert replaces what stands between the marks of a run.
func insert(path, run, text string) error {
	begin, end := "<!-- "+run+": made by `make detection`, do not edit -->\n", "<!-- end of "+run+" -->\n"
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, also := strings.Cut(rest, end)
	if !ok || !also {
		return fmt.Errorf("%s has no marks for the run of %s", path, run)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}

// falseTable is what was said by healthy agents and done to them.
func falseTable(c *cast, w *world, length time.Duration) string {
	b, o := &strings.Builder{}, c.lookout
	agents := uint32(0)
	for _, p := range c.parts {
		agents += p.spec.Replicas
	}
	servers, hosts := w.faultCounts()
	fmt.Fprintf(b, "%d agents, %g simulated hours, %d faults of servers, %d of hosts, %d leaders, "+
		"%d looks at all verdicts.\n\n",
		agents, length.Round(time.Minute).Hours(), servers, hosts, len(o.stints), o.looks)
	b.WriteString(
		"| behaviour | agents | words said | tasks done | lives lost with hosts | nudged | woken | " +
			"interrupted | restarted | humans called | tasks taken | rooms canceled | called dead |\n" +
			"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range healthy() {
		words, n := uint64(0), o.counts[x.kind]
		for _, p := range c.parts {
			if p.kind == x.kind {
				words += p.words.Load()
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", x.kind,
			uint32(x.rooms)*x.agents, words, n["task.completed"],
			n["agent.fence_ended"], n["agent.nudged"], n["agent.woken"], n["agent.interrupted"],
			n["agent.restarted_stuck"], n["agent.needs_human"]+n["mail.escalated"],
			n["wrong: taken back by a limit"]+n["agent.turn_limit"], n["room.canceled"], n["wrong: grave"])
	}
	for _, x := range healthy() {
		fmt.Fprintf(b, "\n- **%s**: %s", x.kind, x.what)
	}
	b.WriteString("\n")
	for _, cause := range o.causes {
		fmt.Fprintf(b, "- nudged, %s\n", cause)
	}
	return b.String()
}

// faultCounts counts the faults of servers and of hosts.
func (w *world) faultCounts() (servers, hosts int) {
	of := map[string]bool{}
	for _, f := range allHostFaults {
		of[f.name] = true
	}
	for what, n := range w.ledger.counts {
		if name, ok := strings.CutPrefix(what, "fault: "); ok && of[name] {
			hosts += n
		} else if ok {
			servers += n
		}
	}
	return servers, hosts
}

// trueTable is how fast everybody was found.
func trueTable(c *cast, w *world, list []*outcome, length time.Duration) string {
	b, o := &strings.Builder{}, c.lookout
	servers, _ := w.faultCounts()
	runs, healthy := 0, uint32(0)
	for _, x := range list {
		runs += x.runs
	}
	for _, p := range c.parts {
		if p.ill == nil {
			healthy += p.spec.Replicas
		}
	}
	fmt.Fprintf(b, "%d runs beside %d healthy agents, %g simulated hours, "+
		"%d faults of servers and %d leaders. Times are cluster time.\n\n",
		runs, healthy, length.Round(time.Minute).Hours(), servers, len(o.stints))
	b.WriteString("| what is wrong | runs | with a change of leader | found within | that is | " +
		"found, median | latest | decided by | within | that is | median | latest |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	set := noun.DefaultSettings()
	for _, x := range list {
		ill, spec := x.ill, c.spec(x.ill.kind)
		fmt.Fprintf(b, "| %s | %d | %d | %s | %s | %s | %s |", ill.kind, x.runs, x.shaken, ill.bound,
			ill.due(&set, spec)+ill.look(&set, spec), middle(x.found), most(x.found))
		if ill.decided == "" {
			fmt.Fprintf(b, " `%s` | | | | |\n", strings.Join(ill.found, "`, `"))
			continue
		}
		fmt.Fprintf(b, " `%s` | %s | %s | %s | %s |\n", ill.decided, ill.ends,
			ill.after(&set, spec)+time.Duration(ill.looks)*ladderLook(&set, spec), middle(x.over), most(x.over))
	}
	for _, x := range list {
		fmt.Fprintf(b, "\n- **%s**: %s", x.ill.kind, x.ill.what)
	}
	b.WriteString("\n")
	return b.String()
}

func (c *cast) spec(kind string) *noun.RoleSpec {
	for _, p := range c.parts {
		if p.kind == kind {
			return p.role(c.w)
		}
	}
	return nil
}
