package agentd

import (
	"io"
	"strconv"
	"strings"
	"time"

	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// maxTail bounds the output in an exit report.
const maxTail = 8 << 10

// start forks the process of an accepted life.
func (k *keeper) start(l *life) {
	room, role, agent, err := place(l.order.GetAgentName())
	if err != nil {
		k.failed(l, err)
		return
	}
	command, err := k.runners.Command(l.order.GetRunner(), runner.Life{
		Addr: strings.Join(k.config.Addrs, ","), Room: room, Role: role, Agent: l.order.GetAgentName(),
		Incarnation: strconv.FormatUint(l.inc, 10), Token: l.token, Resume: l.order.GetResume(),
		Params: l.order.GetParams(),
	})
	l.token = ""
	if err == nil {
		l.log, err = k.logs.Log(l.order.GetAgentName())
	}
	if err != nil {
		k.failed(l, err)
		return
	}
	l.longest = command.StopGrace
	l.tail = &output.Tail{Max: maxTail}
	l.phase = starting
	spec := proc.Spec{
		Mark: proc.Mark{Host: k.key, Agent: l.agent, Incarnation: l.inc},
		Path: command.Path, Args: command.Args, Dir: command.Dir, Env: command.Env,
		Credential: command.Credential, Limits: command.Limits, Output: io.MultiWriter(l.log, l.tail),
	}
	k.spawn(func() {
		l.log.Note("incarnation " + strconv.FormatUint(l.inc, 10) + " starts with runner " + l.order.GetRunner())
		p, err := k.launch(spec, room, agent)
		if err != nil {
			l.log.Note("could not be started: " + err.Error())
		}
		k.send(func() { k.started(l, p, err) })
	})
}

func (k *keeper) launch(spec proc.Spec, room, agent string) (process, error) {
	if spec.Dir == "" {
		var owner *uint32
		if spec.Credential != nil {
			owner = &spec.Credential.Uid
		}
		dir, err := k.data.workDir(room, agent, owner)
		if err != nil {
			return nil, err
		}
		spec.Dir = dir
	}
	return k.launcher.Start(spec)
}

// failed reports that nothing was started.
func (k *keeper) failed(l *life, err error) {
	k.log.Warn("agent could not be started", "agent", l.order.GetAgentName(), "incarnation", l.inc, "error", err)
	k.metrics.exits.WithLabelValues("start_failed").Inc()
	k.bury(l, &vigilv1.ReportExitRequest{StartFailed: true, Reason: err.Error()})
}

// started goes on after the fork.
func (k *keeper) started(l *life, p process, err error) {
	if err != nil {
		k.failed(l, err)
		return
	}
	l.phase, l.process = running, p
	k.metrics.starts.Inc()
	k.log.Info("agent started", "agent", l.order.GetAgentName(), "incarnation", l.inc, "pid", p.PID(), "runner", l.order.GetRunner())
	k.outbox.started(&vigilv1.ReportStartedRequest{Agent: l.agent, Incarnation: l.inc, Pid: uint32(p.PID())})
	// Not spawn: a tree that cannot be killed must not hold up the end of Run.
	go func() {
		exit := p.Wait(func() {
			k.metrics.stuck.Inc()
			k.log.Error("agent cannot be killed: it keeps its slot until its last process is gone",
				"agent", l.order.GetAgentName(), "incarnation", l.inc, "pid", p.PID())
		})
		l.log.Note("incarnation " + strconv.FormatUint(l.inc, 10) + " " + sentence(exit))
		k.send(func() { k.exited(l, exit) })
	}()
	if l.ending.why != "" {
		p.Stop(k.grace(l, nil))
	}
	k.frost(l)
}

// end stops a life, whatever its phase. The first reason stays; a shorter grace
// than that of an earlier call counts.
func (k *keeper) end(l *life, e ending, grace time.Duration) {
	first := l.ending.why == ""
	if first {
		l.ending = e
	}
	switch l.phase {
	case accepting:
		// It is open whether it was accepted. Only the end of the daemon gives up on
		// the answer.
		if k.leave {
			l.giveUp()
		}
	case accepted:
		k.bury(l, &vigilv1.ReportExitRequest{Reason: l.ending.why})
	case running:
		if first {
			k.log.Info("stopping agent", "agent", l.order.GetAgentName(), "incarnation", l.inc, "why", e.why, "grace", grace)
		}
		if first || grace == 0 && !l.killed {
			l.killed = grace == 0
			l.process.Stop(grace)
		}
	}
}

// exited reports a tree of which nothing is left.
func (k *keeper) exited(l *life, exit proc.Exit) {
	kind := "crash"
	switch {
	case l.ending.exempt:
		kind = "ordered"
	case exit.Code == 0:
		kind = "clean"
	}
	k.metrics.exits.WithLabelValues(kind).Inc()
	k.log.Info("agent ended", "agent", l.order.GetAgentName(), "incarnation", l.inc,
		"code", exit.Code, "signal", exit.Signal, "why", l.ending.why)
	k.bury(l, &vigilv1.ReportExitRequest{Code: int32(exit.Code), Signal: exit.Signal,
		Reason: l.ending.why, Tail: l.tail.String()})
}

func sentence(exit proc.Exit) string {
	if exit.Signal != "" {
		return "was ended by signal: " + exit.Signal
	}
	return "exited with code " + strconv.Itoa(exit.Code)
}

// bury takes a life out of the table and reports its end.
func (k *keeper) bury(l *life, report *vigilv1.ReportExitRequest) {
	report.Agent, report.Incarnation = l.agent, l.inc
	report.Ordered = l.ending.exempt // ended on purpose: not charged
	k.ended[l.agent] = max(k.ended[l.agent], l.inc)
	k.outbox.exit(report)
	k.forget(l)
}

// forget takes a life out of the table and begins the one that waited for it.
func (k *keeper) forget(l *life) {
	l.token = ""
	if l.giveUp != nil {
		l.giveUp()
	}
	if k.lives[l.agent] != l {
		return
	}
	delete(k.lives, l.agent)
	if l.next != nil && !k.leave {
		k.takeStart(l.next)
	}
}
