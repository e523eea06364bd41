package fsm

import (
	"fmt"

	"vigil/fsm/noun"
)

// Apply turns one log entry into the next state and says what became of it. It
// is deterministic: the same entries give the same image on every server. The
// slices in the result are reused by the next Apply.
//
// A command that is refused changes nothing. Only a broken invariant panics.
func (s *State) Apply(e *Entry) noun.Result {
	s.now = e
	s.res.Outcomes = s.res.Outcomes[:0]
	s.res.Beats = s.res.Beats[:0]
	s.res.Effects = noun.Effects{Claimable: s.res.Effects.Claimable[:0], Hosts: s.res.Effects.Hosts[:0], Mail: s.res.Effects.Mail[:0]}
	s.meta.Index = e.Index
	if e.Stint == e.Term && e.Stamp > s.meta.Clock {
		s.meta.Clock = e.Stamp
	}
	for i := range e.Beats {
		s.res.Beats = append(s.res.Beats, s.renew(&e.Beats[i]))
	}
	s.renewByWords(e.Words)
	s.steps = noun.StepsPerEntry
	s.fire()
	s.concludeLooks()
	s.workOff()
	s.forget()
	s.settleBooks()
	for i := range e.Requests {
		s.res.Outcomes = append(s.res.Outcomes, s.request(&e.Requests[i]))
		s.concludeLooks()
		s.workOff()
		s.settleBooks()
	}
	s.res.Effects.LastEvent = s.meta.NextEvent - 1
	s.now = nil
	return s.res
}

// request executes a command once: a repeated number of a session gets the first
// answer.
func (s *State) request(r *Request) noun.Outcome {
	if r.Planned && s.now.Stint != s.now.Term {
		return noun.Outcome{Code: noun.StaleStint, Detail: "planned in a stint that is over", Index: s.meta.Index}
	}
	if r.Session == 0 {
		return s.stamped(s.execute(r.Cmd, 0))
	}
	ss := s.sessions.Mut(r.Session)
	if ss == nil {
		return s.stamped(noun.Outcome{Code: noun.UnknownSession,
			Detail: "the session has ended after " + s.meta.Settings.SessionTTL.String() + " without a write; open a new one, nothing was executed"})
	}
	if out, ok := ss.Answer(r.Seq); ok {
		s.figures.Repeated++
		return out.AsRepeated()
	}
	if r.Seq+noun.AnswersKept <= ss.Max || r.Seq <= ss.Forgot {
		return s.stamped(noun.Outcome{Code: noun.TooOld, Detail: fmt.Sprintf(
			"write %d is too old: the session is at %d and remembers %d answers", r.Seq, ss.Max, noun.AnswersKept)})
	}
	out := s.stamped(s.execute(r.Cmd, r.Session))
	if ss = s.sessions.Mut(r.Session); ss != nil {
		ss.Own(s.sessions.Generation())
		ss.Remember(r.Seq, out)
		ss.Used = s.meta.Clock
	}
	return out
}

func (s *State) stamped(out noun.Outcome) noun.Outcome {
	out.Index, out.Clock = s.meta.Index, s.meta.Clock
	switch out.Code {
	case noun.Superseded:
		s.figures.Superseded++
	case noun.Conflict:
		s.figures.Conflicts++
	case noun.Full:
		s.figures.Full++
	}
	return out
}

func (s *State) execute(c Command, session noun.SessionID) noun.Outcome {
	switch c := c.(type) {
	case CreateTask:
		return s.createTask(&c)
	case Claim:
		return s.claim(&c)
	case StartTask:
		return s.startTask(&c)
	case ProgressTask:
		return s.progressTask(&c)
	case CompleteTask:
		return s.completeTask(&c)
	case FailTask:
		return s.failTask(&c)
	case Handoff:
		return s.handoff(&c)
	case Join:
		return s.join(&c)
	case Leave:
		return s.leave(&c)
	case CancelTask:
		return s.cancelTask(&c)
	case RetryTask:
		return s.retryTask(&c)
	case SetResume:
		return s.setResume(&c)
	case Declare:
		return s.declare(&c)
	case SendMail:
		out := s.sendMail(&c)
		s.heardMail(c, &out)
		return out
	case ReadMail:
		return s.readMail(&c)
	case AckMail:
		out := s.ackMail(&c)
		s.heardMail(c, &out)
		return out
	case ApplyRoom:
		return s.applyRoom(&c)
	case DeleteRoom:
		return s.deleteRoom(&c)
	case SetAgent:
		return s.setAgent(&c)
	case RestartAgent:
		return s.restartAgent(&c)
	case SetPause:
		return s.setPause(&c)
	case UnparkAgent:
		return s.unparkAgent(&c)
	case UnquarantineTask:
		return s.unquarantineTask(&c)
	case ReleaseBrake:
		return s.releaseBrake(&c)
	case WarnRoom, CancelIdleRoom, ReopenRoom, SetRoomWatch:
		return s.executeWatchdog(c)
	case AckEscalation, CloseEscalation, NoteNotice:
		return s.executeEscalation(c)
	case ReportPatrol, LookAtOverseer, HandOver, ProdOverseer, NoteProd:
		return s.executeChain(c)
	default:
		return s.executeSystem(c, session)
	}
}

// executeSystem runs what hosts, servers and duties say.
func (s *State) executeSystem(c Command, session noun.SessionID) noun.Outcome {
	switch c := c.(type) {
	case RegisterHost:
		return s.registerHost(&c)
	case LeaveHost:
		return s.leaveHost(&c)
	case SuspectHost, SurrenderHost, ReportViews, ReportPressure, DrainHost, ConfirmDead, ForgetHost:
		return s.executeHost(c)
	case NoteNudge:
		return s.noteNudge(&c)
	case StepLadder:
		return s.stepLadder(&c)
	case NoteRung:
		return s.noteRung(&c)
	case ReportStuck:
		return s.reportStuck(&c)
	case ReportScreen:
		return s.reportScreen(&c)
	case ReportTerminals:
		return s.reportTerminals(&c)
	case AcceptOrder:
		return s.acceptOrder(&c)
	case ReportStarted:
		return s.reportStarted(&c)
	case ReportExit:
		return s.reportExit(&c)
	case OrderStart:
		return s.orderStart(&c)
	case OrderStop:
		return s.orderStop(&c)
	case CancelOrder:
		return s.cancelOrder(&c)
	case OpenSession:
		return s.openSession(&c)
	case CloseSession:
		s.closeSession(session)
		return noun.Outcome{}
	case LeaderEstablished:
		return s.leaderEstablished(&c)
	case PutServer:
		return s.putServer(&c)
	case DropServer:
		return s.dropServer(&c)
	case PutSettings:
		return s.putSettings(&c)
	case Mark:
		return s.mark(&c)
	case ReportHash:
		return s.reportHash(&c)
	case RaiseEpoch:
		return s.raiseEpoch(&c)
	case LeaderUnreached:
		return s.leaderUnreached(&c)
	case RaiseLevel:
		return s.raiseLevel(&c)
	}
	panic(fmt.Sprintf("fsm: command %T has no arm in execute", c))
}

func refuse(code noun.Code, format string, args ...any) noun.Outcome {
	return noun.Outcome{Code: code, Detail: fmt.Sprintf(format, args...)}
}
