package agentd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/disk"
	"vigil/agentd/local"
	"vigil/agentd/results"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/agentd/telemetry"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// errSlow says that so much time has passed since the acceptance that the fence may
// end before the program runs.
var errSlow = errors.New("the journal took too long: nothing was started")

// start forks the shim of an accepted life.
func (v *lives) start(l *life) {
	room, role, agent, err := place(l.order.GetAgentName())
	if err != nil {
		v.failed(l, err)
		return
	}
	offered := v.offers.get()
	command, err := offered.Command(l.order.GetRunner(), runner.Life{
		Addr: strings.Join(v.config.Servers(), ","), Room: room, Role: role, Agent: l.order.GetAgentName(),
		Incarnation: strconv.FormatUint(l.inc, 10), Resume: l.order.GetResume(),
		Params: l.order.GetParams(), Home: v.data.Home(room, agent),
		Files: v.data.Files(room, agent),
	})
	token := l.token
	l.token = ""
	if why := offered.broken[l.order.GetRunner()]; err != nil && why != "" {
		err = fmt.Errorf("runner %q is not offered by this host: %s", l.order.GetRunner(), why)
	}
	if err != nil {
		v.failed(l, err)
		return
	}
	l.longest = command.StopGrace
	l.folder = v.journal.Folder(l.who())
	l.spoolOwner = os.Geteuid()
	if c := command.Credential; c != nil {
		l.spoolOwner = int(c.Uid)
	}
	l.phase, l.begun = starting, v.config.Clock()
	if l.course != nil {
		l.course.Begun = v.config.Wall()
	}
	begin := launch{spec: v.spec(l, command), intent: l.intent(), room: room, agent: agent, own: command.Own,
		token: token, secrets: command.Secrets, patience: l.patience()}
	begin.intent.Boot = v.boot
	v.spawn(func() {
		p, err := v.launch(&begin)
		v.send(func() {
			l.spoolOwner = begin.intent.SpoolOwner
			v.started(l, p, err)
		})
	})
}

// spec says to a shim what to run.
func (v *lives) spec(l *life, c runner.Command) shim.Spec {
	spec := shim.Spec{
		Version: shim.Version, Folder: l.folder, Mark: l.intent().Mark(v.mark), Agent: l.order.GetAgentName(),
		Runner: l.order.GetRunner(), Kind: c.Kind, PTY: c.PTY, Usage: c.Usage,
		Path: c.Path, Args: c.Args, Dir: c.Dir, Sudo: c.Sudo,
		Env: append(c.Env, results.Env+"="+l.folder+"/"+shim.SpoolFolder,
			EnvServers+"="+ServersFile(v.data.Path), client.EnvTokenFile+"="+secretIn(l.folder, tokenFile)),
		Limits:   c.Limits,
		RunLimit: shorter(l.order.GetRunLimit().AsDuration(), c.RunLimit), StopGrace: v.grace(l, nil),
		TTL: l.ttl, OrphanLimit: v.config.OrphanLimit, Acknowledged: l.acked, Agentd: v.data.Agents(),
		LogFolder: v.data.Logs(),
		LogBytes:  v.config.LogBytes, LogKeep: v.config.LogKeep,
	}
	if c.Telemetry {
		spec.Telemetry = v.data.Telemetry()
		spec.Env = append(spec.Env, "OTEL_EXPORTER_OTLP_HEADERS="+telemetry.Header+"="+
			telemetry.Token(v.data.TelemetryKey, local.Life(l.who())))
		spec.Env = append(spec.Env, environ(l.course, c.Env)...)
	}
	if c := c.Credential; c != nil {
		spec.Credential = &shim.Credential{UID: c.Uid, GID: c.Gid, Groups: c.Groups}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		spec.Env = append(spec.Env, name+"="+secretIn(l.folder, name))
	}
	return spec
}

// shorter gives the shorter of two limits of which 0 is none.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// failed reports that nothing was started.
func (v *lives) failed(l *life, err error) {
	v.log.Warn("agent could not be started", "agent", l.order.GetAgentName(), "incarnation", l.inc, "error", err)
	v.metrics.exits.WithLabelValues("start_failed").Inc()
	report := &vigilv1.ReportExitRequest{StartFailed: true, Reason: err.Error()}
	if errors.Is(err, disk.ErrJournaled) {
		l.folder = "" // it belongs to that life
	} else if l.folder != "" {
		if exit := disk.ReadExit(l.folder); exit != nil {
			report.Ordered = exit.Ordered // this host's fault
		}
	}
	report.Ordered = report.Ordered || errors.Is(err, errSlow)
	v.bury(l, report)
}

// started goes on after the fork.
func (v *lives) started(l *life, p process, err error) {
	if err != nil {
		v.failed(l, err)
		return
	}
	v.metrics.starts.Inc()
	v.log.Info("agent started", "agent", l.order.GetAgentName(), "incarnation", l.inc, "pid",
		p.Started().PID, "runner", l.order.GetRunner())
	v.hold(l, p)
	v.tellStarted(l)
	if l.hung { // late, but it runs
		v.answers(l)
	}
	if l.ending.why != "" {
		grace := v.grace(l, nil)
		if l.killed {
			grace = 0
		}
		p.Stop(grace, l.ending.why)
	}
}

// hold makes p the process of a life that runs.
func (v *lives) hold(l *life, p process) {
	l.phase, l.process = running, p
	l.sight = newSight(v.offers.get().Set, l.order.GetRunner())
	p.Acknowledge(l.acked)
	l.course.Begins(p.Started())
	v.callers.add(l, p)
	v.telemetry.Begin(local.Life(l.who()), l.adopted)
	if d := p.Started().Degraded; d != "" && !v.warned[d] {
		v.warned[d] = true
		v.log.Warn("agents of this host run with less than they should", "missing", d)
	}
	// Not spawn: a tree that goes on, or cannot be killed, must not hold up the end of Run.
	go func() {
		exit := p.Wait(func(reason string) { v.send(func() { v.unkillable(l, reason) }) })
		v.send(func() { v.exited(l, exit) })
	}()
}

func (v *lives) tellStarted(l *life) {
	v.outbox.started(&vigilv1.ReportStartedRequest{Agent: l.agent, Incarnation: l.inc,
		Pid: uint32(l.process.Started().PID)})
}

// unkillable reports what outlives SIGKILL or does not react. The life keeps its slot.
func (v *lives) unkillable(l *life, reason string) {
	l.stuck = true
	v.metrics.stuck.Inc()
	pid := 0
	if l.process != nil {
		pid = l.process.Started().PID
	}
	v.log.Error("agent is out of reach: it keeps its slot until its last process is gone",
		"agent", l.order.GetAgentName(), "incarnation", l.inc, "pid", pid, "why", reason)
	v.outbox.stuck(&vigilv1.ReportStuckRequest{Agent: l.agent, Incarnation: l.inc, Reason: reason})
}

// answers takes back what unkillable said.
func (v *lives) answers(l *life) {
	l.hung, l.stuck = false, false
	v.log.Info("agent is within reach again", "agent", l.order.GetAgentName(), "incarnation", l.inc)
	v.outbox.stuck(&vigilv1.ReportStuckRequest{Agent: l.agent, Incarnation: l.inc})
}

// end stops a life, whatever its phase. The first reason stays; a shorter grace
// than that of an earlier call counts.
func (v *lives) end(l *life, e ending, grace time.Duration) {
	first := l.ending.why == ""
	if first {
		l.ending = e
	}
	switch l.phase {
	case accepting:
		// It is open whether it was accepted. Only the end of the daemon gives up on
		// the answer.
		if v.closing {
			l.giveUp()
		}
	case accepted:
		v.bury(l, &vigilv1.ReportExitRequest{Reason: l.ending.why})
	case starting:
		l.killed = l.killed || grace == 0
	case running:
		if first {
			v.log.Info("stopping agent", "agent", l.order.GetAgentName(), "incarnation", l.inc, "why", e.why,
				"grace", grace)
		}
		if first || grace == 0 && !l.killed {
			l.killed = grace == 0
			l.process.Stop(grace, l.ending.why)
		}
	}
}

// exited reports a tree of which nothing is left.
func (v *lives) exited(l *life, exit shim.Exit) {
	report := reportOf(exit)
	l.course.Begins(l.process.Started()) // a shim that did not answer at first is known by now
	l.course.Ends(exit)
	if l.ending.why != "" && (exit.Reason == "" || exit.Vanished) {
		report.Reason = l.ending.why
	}
	report.Ordered = exit.Ordered || l.ending.exempt
	v.metrics.exits.WithLabelValues(kindOf(report)).Inc()
	v.log.Info("agent ended", "agent", l.order.GetAgentName(), "incarnation", l.inc,
		"code", exit.Code, "signal", exit.Signal, "why", report.GetReason())
	if room, _, agent, err := place(l.order.GetAgentName()); err == nil {
		v.spawn(func() { v.data.Used(room, agent) }) // not here: its disk may hang
	}
	v.bury(l, report)
}

// reportOf says to the cluster what a shim has recorded.
func reportOf(exit shim.Exit) *vigilv1.ReportExitRequest {
	r := &vigilv1.ReportExitRequest{Code: int32(exit.Code), Signal: exit.Signal, Reason: exit.Reason, Tail: exit.Tail,
		StartFailed: exit.NotStarted, Ordered: exit.Ordered, TimedOut: exit.TimedOut, UsageLimit: exit.UsageLimit}
	if exit.RetryAfter > 0 {
		r.RetryAfter = durationpb.New(exit.RetryAfter)
	}
	if r.Reason == "" && exit.Signal == "" && !exit.UsageLimit {
		r.Reason = lacking(exit.Code)
	}
	if exit.Vanished && r.Reason == "" {
		r.Reason = "its shim was killed"
	}
	return r
}

// lacking says what a shell means by its exit code when it cannot start a program.
func lacking(code int) string {
	what := ""
	switch code {
	case 126:
		what = "found but cannot be executed by its account (exit code 126)"
	case 127:
		what = "not found (exit code 127)"
	default:
		return ""
	}
	return "its program, or one that it calls, was " + what +
		": `vigil agent logs` shows which; install it, or put its folder on PATH in env of the runner"
}

// kindOf names an end for the figures.
func kindOf(r *vigilv1.ReportExitRequest) string {
	switch {
	case r.GetStartFailed():
		return "start_failed"
	case r.GetOrdered():
		return "ordered"
	case r.GetTimedOut():
		return "timed_out"
	case r.GetUsageLimit():
		return "usage_limit"
	case r.GetCode() == 0 && r.GetSignal() == "":
		return "clean"
	}
	return "crash"
}

// overtaken ends a life that the cluster does not cover any more: its successor may run elsewhere by now,
// so it may not run for another moment (law L7). It need not be frozen: where the clock stood still
// with the host, as that of a guest does while its hypervisor has stopped it, no switch has noticed anything.
func (v *lives) overtaken(l *life) { v.end(l, ending{why: "superseded", exempt: true}, 0) }

// supersede ends a life for which a successor waits here, so it may have its grace. One that is frozen
// may not run for another moment.
func (v *lives) supersede(l *life) {
	grace := v.grace(l, nil)
	if l.phase == running && l.process.Frozen() {
		grace = 0
	}
	v.end(l, ending{why: "superseded", exempt: true}, grace)
}

// grace is how long a life gets between SIGTERM and SIGKILL: as ordered, but not
// longer than its runner allows.
func (v *lives) grace(l *life, ordered *durationpb.Duration) time.Duration {
	grace := ordered.AsDuration()
	if grace <= 0 {
		grace = l.order.GetStopGrace().AsDuration()
	}
	if grace <= 0 {
		grace = v.config.StopGrace
	}
	if l.longest > 0 {
		grace = min(grace, l.longest)
	}
	return min(grace, MaxStopGrace)
}

// bury takes a life out of the table and reports its end.
func (v *lives) bury(l *life, report *vigilv1.ReportExitRequest) {
	report.Agent, report.Incarnation = l.agent, l.inc
	report.Ordered = report.GetOrdered() || l.ending.exempt // ended on purpose: not charged
	v.ended[l.agent] = max(v.ended[l.agent], l.inc)
	v.tellCourse(l, report)
	v.outbox.exit(report, results.Spool{Folder: l.folder, Intent: l.intent()})
	v.forget(l)
}

// forget takes a life out of the table; an order that waited for it is taken with
// the next look.
func (v *lives) forget(l *life) {
	l.token = ""
	if l.giveUp != nil {
		l.giveUp()
	}
	v.callers.remove(l.who())
	v.keepUsage(l.who(), v.telemetry.Total(local.Life(l.who())))
	v.telemetry.End(local.Life(l.who()))
	if v.all[l.agent] == l {
		delete(v.all, l.agent)
	}
}
