package cluster

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// The fields of every command, as in log.proto. Each function describes one
// message for both directions, in ascending order of numbers.

// get decodes the fields of one command.
func get[T fsm.Command](w *wire, fields func(*wire, *T)) fsm.Command {
	c := new(T)
	for w.pass() {
		fields(w, c)
	}
	return *c
}

func leaderEstablished(w *wire, c *fsm.LeaderEstablished) {
	w.str(1, &c.Server)
	w.str(2, &c.APIAddr)
}

func putServer(w *wire, c *fsm.PutServer) {
	w.str(1, &c.ID)
	w.str(2, &c.APIAddr)
	w.str(3, &c.RaftAddr)
	w.str(4, &c.Version)
	uns(w, 5, &c.Features)
	w.str(6, &c.GossipAddr)
}

func dropServer(w *wire, c *fsm.DropServer) { w.str(1, &c.ID) }

func openSession(w *wire, c *fsm.OpenSession) { w.str(1, &c.Client) }

func putSettings(w *wire, c *fsm.PutSettings) {
	list(w, 1, &c.Values, kv)
	w.str(2, &c.By)
}

func kv(w *wire, c *noun.KV) {
	w.str(1, &c.Key)
	w.str(2, &c.Value)
}

func mark(w *wire, c *fsm.Mark) { w.strs(1, &c.Voters) }

func reportHash(w *wire, c *fsm.ReportHash) {
	w.str(1, &c.Server)
	uns(w, 2, &c.Index)
	w.bytes(3, &c.Hash)
}

func raiseEpoch(w *wire, c *fsm.RaiseEpoch) { sig(w, 1, &c.Hold) }

func raiseLevel(w *wire, c *fsm.RaiseLevel) { uns(w, 1, &c.Level) }

func leaderUnreached(w *wire, c *fsm.LeaderUnreached) {
	w.str(1, &c.Server)
	w.str(2, &c.To)
	sig(w, 3, &c.Silent)
}

func applyRoom(w *wire, c *fsm.ApplyRoom) {
	w.str(1, &c.Room)
	list(w, 2, &c.Roles, roleSpec)
	w.str(3, &c.By)
	uns(w, 4, &c.IfRev)
	list(w, 5, &c.Watch, roomWatch)
	w.bool(6, &c.Now)
	w.bool(7, &c.Gentle)
}

func roleSpec(w *wire, c *noun.RoleSpec) {
	w.str(1, &c.Name)
	w.str(2, &c.Runner)
	uns(w, 3, &c.Replicas)
	uns(w, 4, &c.Desired)
	uns(w, 5, &c.Start)
	uns(w, 6, &c.Proof)
	uns(w, 7, &c.Policy)
	list(w, 8, &c.Labels, kv)
	list(w, 9, &c.Params, kv)
	sig(w, 10, &c.TTL)
	sig(w, 11, &c.AckLimit)
	sig(w, 12, &c.PendingLimit)
	sig(w, 13, &c.StartLimit)
	sig(w, 14, &c.ProgressLimit)
	sig(w, 15, &c.StopGrace)
	uns(w, 16, &c.AttemptLimit)
	uns(w, 17, &c.KillLimit)
	sig(w, 18, &c.TurnLimit)
	sig(w, 19, &c.RunLimit)
	sig(w, 20, &c.HealthEvery)
	uns(w, 21, &c.HealthMissed)
	uns(w, 22, &c.Ladder)
	sig(w, 50, &c.Expect)
	list(w, 60, &c.Overseer, overseerSpec)
}

func deleteRoom(w *wire, c *fsm.DeleteRoom) {
	w.str(1, &c.Room)
	w.str(2, &c.By)
	uns(w, 3, &c.IfRev)
	w.bool(4, &c.Gentle)
}

func createTask(w *wire, c *fsm.CreateTask) {
	w.str(1, &c.Room)
	w.str(2, &c.Role)
	w.str(3, &c.Title)
	w.str(4, &c.Text)
	w.str(5, &c.By)
	sig(w, 6, &c.Priority)
	sig(w, 50, &c.Expect)
}

func cancelTask(w *wire, c *fsm.CancelTask) {
	uns(w, 1, &c.Task)
	uns(w, 2, &c.IfRev)
	w.str(3, &c.By)
	w.str(4, &c.Reason)
}

func retryTask(w *wire, c *fsm.RetryTask) {
	uns(w, 1, &c.Task)
	uns(w, 2, &c.IfRev)
	w.str(3, &c.By)
}

func speaker(w *wire, c *fsm.Speaker) {
	w.str(1, &c.Agent)
	uns(w, 2, &c.Inc)
	w.bytes(3, &c.TokenHash)
}

func work(w *wire, c *fsm.Work) {
	speaker(w, &c.Speaker)
	uns(w, 4, &c.Task)
	uns(w, 5, &c.Attempt)
}

func join(w *wire, c *fsm.Join) { speaker(w, &c.Speaker) }

func leave(w *wire, c *fsm.Leave) {
	speaker(w, &c.Speaker)
	w.str(6, &c.Reason)
}

func claim(w *wire, c *fsm.Claim) {
	speaker(w, &c.Speaker)
	uns(w, 4, &c.Task)
}

func startTask(w *wire, c *fsm.StartTask) { work(w, &c.Work) }

func progressTask(w *wire, c *fsm.ProgressTask) {
	work(w, &c.Work)
	w.str(6, &c.Note)
	uns(w, 50, &c.Percent)
	sig(w, 51, &c.Expect)
}

func completeTask(w *wire, c *fsm.CompleteTask) {
	work(w, &c.Work)
	w.str(6, &c.Result)
}

func failTask(w *wire, c *fsm.FailTask) {
	work(w, &c.Work)
	w.str(6, &c.Reason)
	w.bool(7, &c.Retryable)
}

func handoff(w *wire, c *fsm.Handoff) {
	work(w, &c.Work)
	w.str(6, &c.Result)
	w.str(7, &c.ToRole)
	w.str(8, &c.Title)
	w.str(9, &c.Text)
	sig(w, 10, &c.Priority)
}

func setResume(w *wire, c *fsm.SetResume) {
	speaker(w, &c.Speaker)
	w.str(6, &c.Resume)
}

func declare(w *wire, c *fsm.Declare) {
	speaker(w, &c.Speaker)
	uns(w, 6, &c.Status)
	uns(w, 7, &c.Waiting)
	sig(w, 8, &c.For)
	w.str(9, &c.Text)
	uns(w, 10, &c.Seq)
}

func sendMail(w *wire, c *fsm.SendMail) {
	speaker(w, &c.Speaker)
	w.str(6, &c.From)
	w.str(7, &c.To)
	w.str(8, &c.Subject)
	w.str(9, &c.Body)
	w.str(10, &c.Kind)
	uns(w, 11, &c.Priority)
	uns(w, 12, &c.Thread)
	uns(w, 13, &c.ReplyTo)
	w.bool(14, &c.NoQueue)
}

func readMail(w *wire, c *fsm.ReadMail) {
	speaker(w, &c.Speaker)
	uns(w, 6, &c.Max)
}

func ackMail(w *wire, c *fsm.AckMail) {
	speaker(w, &c.Speaker)
	uns(w, 6, &c.Mail)
}

func setAgent(w *wire, c *fsm.SetAgent) {
	w.str(1, &c.Agent)
	w.bool(2, &c.Stop)
	w.str(3, &c.By)
	uns(w, 4, &c.IfRev)
	w.bool(5, &c.Fresh)
	w.str(6, &c.Reason)
}

func restartAgent(w *wire, c *fsm.RestartAgent) {
	w.str(1, &c.Agent)
	w.str(2, &c.By)
	w.bool(3, &c.Fresh)
	w.str(4, &c.Reason)
}

func setPause(w *wire, c *fsm.SetPause) {
	w.str(1, &c.Scope)
	w.bool(2, &c.Pause)
	w.str(3, &c.By)
	w.str(4, &c.Reason)
}

func unparkAgent(w *wire, c *fsm.UnparkAgent) {
	w.str(1, &c.Agent)
	w.str(2, &c.By)
}

func unquarantineTask(w *wire, c *fsm.UnquarantineTask) {
	uns(w, 1, &c.Task)
	uns(w, 2, &c.IfRev)
	w.str(3, &c.By)
}

func releaseBrake(w *wire, c *fsm.ReleaseBrake) { w.str(1, &c.By) }

func running(w *wire, c *fsm.Running) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	uns(w, 3, &c.PID)
}

func registerHost(w *wire, c *fsm.RegisterHost) {
	w.str(1, &c.Key)
	w.str(2, &c.Name)
	w.str(3, &c.Boot)
	w.str(4, &c.Version)
	w.strs(5, &c.Runners)
	list(w, 6, &c.Labels, kv)
	uns(w, 7, &c.Capacity)
	list(w, 8, &c.Inventory, running)
	uns(w, 9, &c.Taken)
	w.strs(10, &c.Warnings)
	w.str(11, &c.GossipAddr)
	w.strs(12, &c.Servers)
	w.str(13, &c.Containment)
}

func leaveHost(w *wire, c *fsm.LeaveHost) {
	w.str(1, &c.Key)
	w.str(2, &c.Boot)
}

func suspectHost(w *wire, c *fsm.SuspectHost) {
	uns(w, 1, &c.Host)
	w.bool(2, &c.Suspect)
	w.str(3, &c.Reason)
}

func acceptOrder(w *wire, c *fsm.AcceptOrder) {
	uns(w, 1, &c.Host)
	w.str(2, &c.Boot)
	uns(w, 3, &c.Agent)
	uns(w, 4, &c.Inc)
	w.bytes(5, &c.TokenHash)
}

func reportStarted(w *wire, c *fsm.ReportStarted) {
	uns(w, 1, &c.Host)
	uns(w, 2, &c.Agent)
	uns(w, 3, &c.Inc)
	uns(w, 4, &c.PID)
}

func reportExit(w *wire, c *fsm.ReportExit) {
	uns(w, 1, &c.Host)
	uns(w, 2, &c.Agent)
	uns(w, 3, &c.Inc)
	uns(w, 4, &c.Kind)
	sig(w, 5, &c.Code)
	w.str(6, &c.Signal)
	w.str(7, &c.Reason)
	w.str(8, &c.Tail)
	sig(w, 9, &c.RetryAfter)
}

func drainHost(w *wire, c *fsm.DrainHost) {
	uns(w, 1, &c.Host)
	w.bool(2, &c.Off)
	sig(w, 3, &c.Deadline)
	w.str(4, &c.By)
}

func confirmDead(w *wire, c *fsm.ConfirmDead) {
	uns(w, 1, &c.Host)
	w.bool(2, &c.Force)
	w.str(3, &c.By)
}

func forgetHost(w *wire, c *fsm.ForgetHost) {
	uns(w, 1, &c.Host)
	w.str(2, &c.By)
}

func hostView(w *wire, c *noun.HostView) {
	w.str(1, &c.Server)
	uns(w, 2, &c.Host)
	uns(w, 3, &c.Gossip)
	uns(w, 4, &c.Stream)
}

func reportViews(w *wire, c *fsm.ReportViews) {
	w.str(1, &c.Server)
	list(w, 2, &c.Views, hostView)
	w.bool(3, &c.All)
}

func surrenderHost(w *wire, c *fsm.SurrenderHost) {
	uns(w, 1, &c.Host)
	w.str(2, &c.Reason)
}

func reportPressure(w *wire, c *fsm.ReportPressure) {
	uns(w, 1, &c.Host)
	w.str(2, &c.Boot)
	w.str(3, &c.Reason)
}

func noteNudge(w *wire, c *fsm.NoteNudge) {
	w.str(1, &c.Agent)
	w.str(2, &c.By)
	w.str(3, &c.Reason)
}

func reportStuck(w *wire, c *fsm.ReportStuck) {
	uns(w, 1, &c.Host)
	uns(w, 2, &c.Agent)
	uns(w, 3, &c.Inc)
	w.str(4, &c.Reason)
}

func orderStart(w *wire, c *fsm.OrderStart) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	uns(w, 3, &c.Host)
}

func orderStop(w *wire, c *fsm.OrderStop) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	w.str(3, &c.Reason)
}

func cancelOrder(w *wire, c *fsm.CancelOrder) {
	uns(w, 1, &c.Agent)
	uns(w, 2, &c.Inc)
	w.str(3, &c.Reason)
}
