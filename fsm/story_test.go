package fsm

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// A story is a transcript: a command on each line, what can be seen of it below,
// indented. With -update the consequences are written anew; read the difference.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) < 7 {
		t.Fatalf("stories %v, %v", files, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := (&teller{drive: newDrive(t), lives: map[string]Speaker{}, seen: 1}).tell(string(text))
			if *updateFlag {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Fatalf("the story has changed; it now reads\n%s", got)
			}
		})
	}
}

type teller struct {
	*drive
	lives map[string]Speaker // by the name that the story gives them
	seen  uint64             // events
	out   strings.Builder
}

func (s *teller) tell(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		s.out.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		s.run(strings.Fields(line))
		for e := range s.s.Events(s.seen) {
			s.seen = e.Seq
			s.say("%s %s", clockText(e.At), sentence(e))
		}
	}
	return s.out.String()
}

func clockText(at noun.Time) string { return fmt.Sprintf("%6.1fs", time.Duration(at).Seconds()) }

func sentence(e *noun.Event) string {
	p := []string{e.Kind}
	if e.Agent != "" {
		p = append(p, e.Agent+"#"+e.Inc.String())
	}
	if e.Task != 0 {
		p = append(p, fmt.Sprint("task ", e.Task))
	}
	if e.Attempt != 0 {
		p = append(p, fmt.Sprint("attempt ", e.Attempt))
	}
	if e.Host != "" {
		p = append(p, "on "+e.Host)
	}
	if e.Text != "" {
		p = append(p, "- "+e.Text)
	}
	return strings.Join(p, " ")
}

func (s *teller) say(format string, args ...any) {
	fmt.Fprintf(&s.out, "    "+format+"\n", args...)
}

func (s *teller) send(c Command) noun.Outcome {
	out := s.do(c)
	if out.Code != noun.OK {
		s.say("%s: %s", out.Code, out.Detail)
	}
	return out
}

func (s *teller) hostID(key string) noun.HostID { return s.s.HostByKey(key).ID }

// run plays one line. Names of lives are those of agents, or agent@host for the
// life that a host runs; "as" gives a life a name of its own.
func (s *teller) run(w []string) {
	switch w[0] {
	case "room": // room NAME ROLE[:RUNNER] ...
		var roles []noun.RoleSpec
		for _, r := range w[2:] {
			name, runner, _ := strings.Cut(r, ":")
			roles = append(roles, noun.RoleSpec{Name: name, Runner: runner})
		}
		s.send(ApplyRoom{Room: w[1], Roles: roles, By: "ann"})
	case "host":
		s.send(RegisterHost{Key: w[1], Name: w[1], Boot: "boot1", Runners: w[2:]})
	case "pass":
		span, err := time.ParseDuration(w[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.pass(span)
	case "beat":
		s.hear(w[1], w[2:])
	case "task": // task ROOM ROLE
		s.send(CreateTask{Room: w[1], Role: w[2], By: "ann"})
	case "stop", "start-again":
		s.send(SetAgent{Agent: w[1], Stop: w[0] == "stop", By: "ann"})
	case "retry":
		s.send(RetryTask{Task: s.task(w[1]), By: "ann"})
	case "why":
		y := s.s.Why(s.agent(w[1]).ID)
		s.say("%s: %s (%s)", y.Code, y.Text, y.Left)
	case "show":
		for a := range s.s.Agents("") {
			s.say("%s#%s is %s, its process %s", a.Name, a.Inc, a.Part, a.Proc)
		}
		for t := range s.s.Tasks(0) {
			s.say("task %d is %s, attempt %d", t.ID, t.State, t.Attempt)
		}
	default:
		s.process(w)
	}
}

func (s *teller) process(w []string) {
	switch w[0] {
	case "order": // order AGENT HOST
		a := s.agent(w[1])
		out := s.send(OrderStart{Agent: a.ID, Inc: s.s.NextInc(a), Host: s.hostID(w[2])})
		if out.Code == noun.OK {
			s.lives[w[1]] = Speaker{Agent: w[1], Inc: out.Inc}
		}
	case "accept":
		s.send(AcceptOrder{Host: s.hostID(w[2]), Boot: "boot1", Agent: s.agent(w[1]).ID, Inc: s.lives[w[1]].Inc})
	case "run":
		s.send(ReportStarted{Host: s.hostID(w[2]), Agent: s.agent(w[1]).ID, Inc: s.lives[w[1]].Inc, PID: 4711})
	case "exit": // exit AGENT HOST SIGNAL
		s.send(ReportExit{Host: s.hostID(w[2]), Agent: s.agent(w[1]).ID, Inc: s.lives[w[1]].Inc, Signal: w[3]})
	case "name": // name AGENT OLD: later lines speak as the life of now by that name
		s.lives[w[2]] = s.lives[w[1]]
	default:
		s.speak(w)
	}
}

// speak is a line of an agent: WORD LIFE [TASK ATTEMPT].
func (s *teller) speak(w []string) {
	sp, ok := s.lives[w[1]]
	if !ok {
		sp = Speaker{Agent: w[1]}
	}
	var work Work
	if len(w) > 3 {
		n, err := strconv.Atoi(w[3])
		if err != nil {
			s.t.Fatal(err)
		}
		work = Work{Speaker: sp, Task: s.task(w[2]), Attempt: uint32(n)}
	}
	switch w[0] {
	case "join":
		if out := s.send(Join{Speaker: sp}); out.Code == noun.OK {
			s.lives[w[1]] = Speaker{Agent: sp.Agent, Inc: out.Inc}
		}
	case "hand": // a start by hand of the named slot
		s.send(Join{Speaker: Speaker{Agent: w[1]}})
	case "leave":
		s.send(Leave{Speaker: sp})
	case "claim":
		s.send(Claim{Speaker: sp})
	case "begin":
		s.send(StartTask{Work: work})
	case "complete":
		s.send(CompleteTask{Work: work, Result: "done"})
	case "handoff": // handoff LIFE TASK ATTEMPT ROLE
		s.send(Handoff{Work: work, Result: "done", ToRole: w[4]})
	default:
		s.t.Fatalf("the story says %q", w)
	}
}

func (s *teller) task(text string) noun.TaskID {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return noun.TaskID(n)
}

// hear sends the beats of lives: by a host their fences and its word for them, by
// hand ("-") their leases.
func (s *teller) hear(from string, lives []string) {
	e := s.entry()
	b := HostBeats{}
	kind := uint8(BeatLease)
	if from != "-" {
		b.Host, b.Boot, kind = s.hostID(from), "boot1", BeatFence|BeatVouch
	}
	for _, l := range lives {
		sp := s.lives[l]
		b.Packed = append(b.Packed, PackBeats(nil, []noun.AgentID{s.agent(sp.Agent).ID},
			[]noun.Incarnation{sp.Inc}, []uint8{kind})...)
		e.Beats = append(e.Beats, b)
		b.Packed = nil
	}
	if len(lives) == 0 {
		e.Beats = append(e.Beats, b)
	}
	for i, ans := range s.apply(e).Beats {
		switch {
		case ans.HostGone:
			s.say("register again")
		case len(ans.Exceptions) > 0:
			s.say("%s: %s", lives[i], ans.Exceptions[0].Verdict)
		}
	}
}
