package mutants

// orderMutants break starts and stops: dedup, budgets and what humans want.
func orderMutants() []Mutant {
	return []Mutant{
		{
			Name: "acceptance-not-compared", Law: "L4", Says: "a host may accept an order that is not open any more",
			Edits: []Edit{{File: "fsm/core/reports.go",
				Old: "	if a.Proc != noun.ProcOrdered {\n		return Refuse(noun.Superseded, \"the start order",
				New: "	if a.Proc == noun.ProcRunning {\n		return Refuse(noun.Superseded, \"the start order"}},
			Hunt: tests("./fsm", "TestL4|TestProcessTransitions|TestUnacceptedOrderIsWithdrawn"),
		},
		{
			Name: "second-start-order", Law: "L4", Says: "a start is ordered although one is open",
			Edits: []Edit{{File: "fsm/core/why.go",
				Old: "	case a.Proc == noun.ProcOrdered:\n		return \"order_open\"\n", New: ""}},
			Hunt: tests("./fsm", "TestL4OneStartOrder"),
		},
		{
			Name: "stop-forgotten", Law: "L9", Says: "a new leader forgets which agents humans have stopped",
			Edits: []Edit{{File: "fsm/core/system.go",
				Old: "	s.Event(\"leader.established\", About{}, c.Server)\n",
				New: `	for id := range s.AgentTable.From(0) {
		if a := s.AgentTable.Mut(id); a.Stopped {
			was := ShadowOf(a)
			a.Stopped = false
			s.Settle(a, was)
		}
	}
	s.Event("leader.established", About{}, c.Server)
`}},
			Hunt: stand("-time", "30s", "-seed", "3", "-workloads", "intent", "-nemesis",
				"leader_killed,leadership_moved"),
		},
		{
			Name: "budget-not-charged", Law: "L11", Says: "failures are counted and no pause follows from them",
			Edits: []Edit{{File: "fsm/core/budget.go",
				Old: "		a.NotBefore = s.Meta.Clock.Add(pause + jitter(pause, a.ID, a.Inc))\n	}\n}\n\n// chargeFault",
				New: "		a.NotBefore = 0\n	}\n}\n\n// chargeFault"}},
			Hunt: incidents("TestI87CrashLoopSlowsDown"),
		},
		{
			Name: "breaker-never-opens", Law: "L11", Says: "however often an agent fails, it is started again",
			Edits: []Edit{{File: "fsm/core/budget.go",
				Old: "	if a.Parked || uint32(len(a.Starts)) >= set.BreakerStarts || slow {\n",
				New: "	if a.Parked && uint32(len(a.Starts)) >= set.BreakerStarts {\n"}},
			Hunt: incidents("TestI88BreakerHoldsOnEveryPath"),
		},
		{
			Name: "brake-ignored", Law: "L11", Says: "lost agents are started at once, however many were lost together",
			Edits: []Edit{{File: "fsm/noun/brake.go",
				Old: "return a.LastExit != nil && a.LastExit.Kind == ExitFenceEnded }\n",
				New: "return a.LastExit != nil && a.LastExit.Kind == ExitNone }\n"}},
			Hunt: tests("./fsm", "TestI27MassLossSetsTheBrake"),
		},
	}
}
