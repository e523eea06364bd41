package cluster

import "vigil/fsm"

// The commands by their field numbers in log.proto: for each group a function
// that encodes a command of the group and tells whether it was one, and a
// function that decodes the command with a number, nil when the group has none.
// Every command has one line in each, and its fields in codec_fields.go.

// firstCommand is the smallest number of a command.
const firstCommand = 10

// putCluster and getCluster serve the servers, the sessions, the settings and the rooms.
func putCluster(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.LeaderEstablished:
		at = w.open(10)
		leaderEstablished(w, &c)
	case fsm.PutServer:
		at = w.open(11)
		putServer(w, &c)
	case fsm.DropServer:
		at = w.open(12)
		dropServer(w, &c)
	case fsm.OpenSession:
		at = w.open(13)
		openSession(w, &c)
	case fsm.CloseSession:
		at = w.open(14)
	case fsm.PutSettings:
		at = w.open(15)
		putSettings(w, &c)
	case fsm.Mark:
		at = w.open(16)
		mark(w, &c)
	case fsm.ReportHash:
		at = w.open(17)
		reportHash(w, &c)
	case fsm.RaiseEpoch:
		at = w.open(18)
		raiseEpoch(w, &c)
	case fsm.LeaderUnreached:
		at = w.open(19)
		leaderUnreached(w, &c)
	case fsm.RaiseLevel:
		at = w.open(74)
		raiseLevel(w, &c)
	case fsm.ApplyRoom:
		at = w.open(20)
		applyRoom(w, &c)
	case fsm.DeleteRoom:
		at = w.open(21)
		deleteRoom(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getCluster(w *wire, n number) fsm.Command {
	switch n {
	case 10:
		return get(w, leaderEstablished)
	case 11:
		return get(w, putServer)
	case 12:
		return get(w, dropServer)
	case 13:
		return get(w, openSession)
	case 14:
		for w.pass() { // has no fields
		}
		return fsm.CloseSession{}
	case 15:
		return get(w, putSettings)
	case 16:
		return get(w, mark)
	case 17:
		return get(w, reportHash)
	case 18:
		return get(w, raiseEpoch)
	case 19:
		return get(w, leaderUnreached)
	case 74:
		return get(w, raiseLevel)
	case 20:
		return get(w, applyRoom)
	case 21:
		return get(w, deleteRoom)
	}
	return nil
}

// putWord and getWord serve what an incarnation says.
func putWord(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.Join:
		at = w.open(30)
		join(w, &c)
	case fsm.Leave:
		at = w.open(31)
		leave(w, &c)
	case fsm.Claim:
		at = w.open(32)
		claim(w, &c)
	case fsm.StartTask:
		at = w.open(33)
		startTask(w, &c)
	case fsm.ProgressTask:
		at = w.open(34)
		progressTask(w, &c)
	case fsm.CompleteTask:
		at = w.open(35)
		completeTask(w, &c)
	case fsm.FailTask:
		at = w.open(36)
		failTask(w, &c)
	case fsm.Handoff:
		at = w.open(37)
		handoff(w, &c)
	case fsm.SetResume:
		at = w.open(38)
		setResume(w, &c)
	case fsm.Declare:
		at = w.open(39)
		declare(w, &c)
	case fsm.SendMail:
		at = w.open(45)
		sendMail(w, &c)
	case fsm.ReadMail:
		at = w.open(46)
		readMail(w, &c)
	case fsm.AckMail:
		at = w.open(47)
		ackMail(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getWord(w *wire, n number) fsm.Command {
	switch n {
	case 30:
		return get(w, join)
	case 31:
		return get(w, leave)
	case 32:
		return get(w, claim)
	case 33:
		return get(w, startTask)
	case 34:
		return get(w, progressTask)
	case 35:
		return get(w, completeTask)
	case 36:
		return get(w, failTask)
	case 37:
		return get(w, handoff)
	case 38:
		return get(w, setResume)
	case 39:
		return get(w, declare)
	case 45:
		return get(w, sendMail)
	case 46:
		return get(w, readMail)
	case 47:
		return get(w, ackMail)
	}
	return nil
}

// putWork and getWork serve what people ask of tasks and agents.
func putWork(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.CreateTask:
		at = w.open(22)
		createTask(w, &c)
	case fsm.CancelTask:
		at = w.open(23)
		cancelTask(w, &c)
	case fsm.RetryTask:
		at = w.open(24)
		retryTask(w, &c)
	case fsm.SetAgent:
		at = w.open(40)
		setAgent(w, &c)
	case fsm.RestartAgent:
		at = w.open(41)
		restartAgent(w, &c)
	case fsm.UnquarantineTask:
		at = w.open(25)
		unquarantineTask(w, &c)
	case fsm.SetPause:
		at = w.open(42)
		setPause(w, &c)
	case fsm.UnparkAgent:
		at = w.open(43)
		unparkAgent(w, &c)
	case fsm.ReleaseBrake:
		at = w.open(44)
		releaseBrake(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getWork(w *wire, n number) fsm.Command {
	switch n {
	case 22:
		return get(w, createTask)
	case 23:
		return get(w, cancelTask)
	case 24:
		return get(w, retryTask)
	case 40:
		return get(w, setAgent)
	case 41:
		return get(w, restartAgent)
	case 25:
		return get(w, unquarantineTask)
	case 42:
		return get(w, setPause)
	case 43:
		return get(w, unparkAgent)
	case 44:
		return get(w, releaseBrake)
	}
	return nil
}

// putHost and getHost serve the hosts, their orders and reports.
func putHost(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.RegisterHost:
		at = w.open(50)
		registerHost(w, &c)
	case fsm.LeaveHost:
		at = w.open(51)
		leaveHost(w, &c)
	case fsm.AcceptOrder:
		at = w.open(53)
		acceptOrder(w, &c)
	case fsm.ReportStarted:
		at = w.open(54)
		reportStarted(w, &c)
	case fsm.ReportExit:
		at = w.open(55)
		reportExit(w, &c)
	case fsm.OrderStart:
		at = w.open(60)
		orderStart(w, &c)
	case fsm.OrderStop:
		at = w.open(61)
		orderStop(w, &c)
	case fsm.CancelOrder:
		at = w.open(62)
		cancelOrder(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getHost(w *wire, n number) fsm.Command {
	switch n {
	case 50:
		return get(w, registerHost)
	case 51:
		return get(w, leaveHost)
	case 53:
		return get(w, acceptOrder)
	case 54:
		return get(w, reportStarted)
	case 55:
		return get(w, reportExit)
	case 60:
		return get(w, orderStart)
	case 61:
		return get(w, orderStop)
	case 62:
		return get(w, cancelOrder)
	}
	return nil
}

// putHealth and getHealth serve what is said about a host as a whole.
func putHealth(w *wire, cmd fsm.Command) bool {
	var at int
	switch c := cmd.(type) {
	case fsm.SuspectHost:
		at = w.open(52)
		suspectHost(w, &c)
	case fsm.DrainHost:
		at = w.open(56)
		drainHost(w, &c)
	case fsm.ConfirmDead:
		at = w.open(57)
		confirmDead(w, &c)
	case fsm.ForgetHost:
		at = w.open(58)
		forgetHost(w, &c)
	case fsm.ReportViews:
		at = w.open(59)
		reportViews(w, &c)
	case fsm.SurrenderHost:
		at = w.open(63)
		surrenderHost(w, &c)
	case fsm.ReportPressure:
		at = w.open(64)
		reportPressure(w, &c)
	case fsm.ReportStuck:
		at = w.open(65)
		reportStuck(w, &c)
	case fsm.NoteNudge:
		at = w.open(66)
		noteNudge(w, &c)
	default:
		return false
	}
	w.close(at)
	return true
}

func getHealth(w *wire, n number) fsm.Command {
	switch n {
	case 52:
		return get(w, suspectHost)
	case 56:
		return get(w, drainHost)
	case 57:
		return get(w, confirmDead)
	case 58:
		return get(w, forgetHost)
	case 59:
		return get(w, reportViews)
	case 63:
		return get(w, surrenderHost)
	case 64:
		return get(w, reportPressure)
	case 65:
		return get(w, reportStuck)
	case 66:
		return get(w, noteNudge)
	}
	return nil
}
