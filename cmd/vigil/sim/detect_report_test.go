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

	"vigil/fsm"
)

var docFlag = flag.String("sim.doc", "", "document into which TestDetection writes its figures")

// Both runs at full length; what was measured goes between the marks of the document.
// Nothing is written when anything was wrong.
func TestDetection(t *testing.T) {
	if *docFlag == "" || *detectFlag == 0 {
		t.Skip("needs -sim.doc and -sim.detect")
	}
	seed, length := max(*seedFlag, 1), time.Duration(*detectFlag*float64(time.Hour))
	text := &strings.Builder{}
	begun := time.Now()
	c, w := falseAlarms(t, seed, length)
	text.WriteString(falseTable(c, w, length))
	t.Log(w.summary())
	t.Log(c.text())
	wrong := w.ledger.breaches
	c, w, list := trueAlarms(t, seed, length)
	text.WriteString(trueTable(c, w, list, length))
	t.Log(w.summary())
	for _, b := range append(wrong, w.ledger.breaches...) {
		t.Errorf("%s: %s", b.law, b.text)
	}
	if t.Failed() {
		return
	}
	revision, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("Made by `make detection DETECT=%g SEED=%d` on %s, revision %s, %d processors of which one was used, in %s (%s of processor time).\n",
		*detectFlag, seed, time.Now().Format(time.DateOnly), strings.TrimSpace(string(revision)), runtime.NumCPU(), time.Since(begun).Round(time.Second), processor().Round(time.Second))
	if err := insert(*docFlag, head+text.String()); err != nil {
		t.Fatal(err)
	}
}

// processor is the time of processors that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const beginMark, endMark = "<!-- figures: made by `make detection`, do not edit -->\n", "<!-- end of figures -->\n"

// insert replaces what stands between the marks of a document.
func insert(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), beginMark)
	_, after, also := strings.Cut(rest, endMark)
	if !ok || !also {
		return fmt.Errorf("%s has no marks for the figures", path)
	}
	return os.WriteFile(path, []byte(before+beginMark+"\n"+text+"\n"+endMark+after), 0o644)
}

// falseTable is what was said by healthy agents and done to them.
func falseTable(c *cast, w *world, length time.Duration) string {
	b, o := &strings.Builder{}, c.lookout
	agents := uint32(0)
	for _, p := range c.parts {
		agents += p.spec.Replicas
	}
	servers, hosts := w.faultCounts()
	fmt.Fprintf(b, "\n### Healthy agents\n\n%d agents, %g simulated hours, %d faults of servers, %d of hosts, %d leaders, %d looks at all verdicts; seed %d.\n\n",
		agents, length.Hours(), servers, hosts, len(o.stints), o.looks, w.cfg.seed)
	b.WriteString("| behaviour | agents | words said | tasks done | lives lost with hosts | nudged | woken | interrupted | restarted | humans called | tasks taken | rooms canceled | called dead |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range healthy() {
		words, n := uint64(0), o.counts[x.kind]
		for _, p := range c.parts {
			if p.kind == x.kind {
				words += p.words.Load()
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", x.kind, uint32(x.rooms)*x.agents, words, n["task.completed"],
			n["agent.fence_ended"], n["agent.nudged"], n["agent.woken"], n["agent.interrupted"], n["agent.restarted_stuck"], n["agent.needs_human"]+n["mail.escalated"],
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
	fmt.Fprintf(b, "\n### Hung, deaf and dead agents\n\n%d runs beside %d healthy agents, %g simulated hours, %d faults of servers and %d leaders; seed %d. Times are cluster time.\n\n",
		runs, healthy, length.Hours(), servers, len(o.stints), w.cfg.seed)
	b.WriteString("| what is wrong | runs | with a change of leader | found within | that is | found, median | latest | decided by | within | that is | median | latest |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	set := fsm.DefaultSettings()
	for _, x := range list {
		ill, spec := x.ill, c.spec(x.ill.kind)
		fmt.Fprintf(b, "| %s | %d | %d | %s | %s | %s | %s |", ill.kind, x.runs, x.shaken, ill.bound, ill.due(&set, spec)+ill.look(&set, spec), middle(x.found), most(x.found))
		if ill.decided == "" {
			fmt.Fprintf(b, " `%s` | | | | |\n", strings.Join(ill.found, "`, `"))
			continue
		}
		fmt.Fprintf(b, " `%s` | %s | %s | %s | %s |\n", ill.decided, ill.ends, ill.after(&set, spec)+time.Duration(ill.looks)*ladderLook(&set, spec), middle(x.over), most(x.over))
	}
	for _, x := range list {
		fmt.Fprintf(b, "\n- **%s**: %s", x.ill.kind, x.ill.what)
	}
	b.WriteString("\n")
	return b.String()
}

func (c *cast) spec(kind string) *fsm.RoleSpec {
	for _, p := range c.parts {
		if p.kind == kind {
			return p.role(c.w)
		}
	}
	return nil
}
