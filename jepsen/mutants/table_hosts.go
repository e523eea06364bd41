package mutants

// hostMutants break agentd and its shims.
func hostMutants() []Mutant {
	return []Mutant{
		{
			Name: "switch-never-fires", Law: "L7", Says: "the dead-man's switch never freezes an agent",
			Edits: []Edit{{File: "agentd/shim/deadman.go",
				Old: "	case silent && !d.frozen:\n",
				New: "	case silent && !d.frozen && d.ttl == 0:\n"}},
			Hunt: incidents("TestI125AgentsFreezeBeforeTheirFenceEnds"),
		},
		{
			Name: "switch-fires-late", Law: "L7", Says: "the dead-man's switch waits for longer than the fence",
			Edits: []Edit{{File: "agentd/shim/deadman.go", Old: "return d.ttl * 3 / 4", New: "return d.ttl * 3 / 2"}},
			Hunt:  incidents("TestI125AgentsFreezeBeforeTheirFenceEnds|TestI57PartitionedHostRejoins"),
		},
		{
			Name: "superseded-thaws", Law: "L7", Says: "a frozen life that was superseded goes on",
			Edits: []Edit{{File: "agentd/beats.go",
				Old: "	case \"\", \"current\", \"adopt\":\n		l.acknowledge(sent)\n",
				New: "	case \"\", \"current\", \"adopt\", \"superseded\":\n		l.acknowledge(sent)\n"},
				{File: "agentd/beats.go", Old: "	case \"superseded\", \"unknown\":\n",
					New: "	case \"unknown\":\n"}},
			Hunt: tests("./agentd", "TestFrozenAndSupersededIsKilledAtOnce|TestSupersededBeatStops"),
		},
		{
			Name: "started-before-acceptance",
			Law:  "L7", Says: "agentd starts an agent although its acceptance was refused",
			Edits: []Edit{{File: "agentd/orders.go", Old: "	if err != nil && refused(err) {\n",
				New: "	if err != nil && refused(err) && l.inc == 0 {\n"},
				{File: "agentd/orders.go", Old: "	if l.ending.why != \"\" || err != nil {\n",
					New: "	if l.ending.why != \"\" {\n"}},
			Hunt: tests("./agentd", "TestRefusedAcceptForksNothing"),
		},
		{
			Name: "reserve-outlives-agentd", Law: "L7", Says: "a shim in reserve waits on when its agentd has gone",
			Edits: []Edit{{File: "agentd/shim/handover.go", Old: "		return nil, -1, errUnwanted\n",
				New: "		select {}\n"}},
			Hunt: tests("./agentd", "TestL7TheReserve"),
		},
		{
			Name: "answer-begins-a-life-twice", Law: "L4",
			Says: "an order that comes with the answer to a report is taken although its life is over",
			Edits: []Edit{{File: "agentd/orders.go",
				Old: "	case o.GetIncarnation() <= s.lives.ended[o.GetAgent()]:\n		// An old list",
				New: "	case o.GetIncarnation() < s.lives.ended[o.GetAgent()]:\n		// An old list"}},
			Hunt: tests("./agentd", "TestL4TheNextOrder"),
		},
		{
			Name: "outage-kills", Law: "L10",
			Says: "a life that was frozen for half an hour is ended, whoever could have confirmed it",
			Edits: []Edit{{File: "agentd/shim/guard.go",
				Old: "	if limit := g.spec.OrphanLimit; limit > 0 {\n",
				New: "	if g.watch.frozen && now-g.watch.since >= 30*time.Minute {\n" +
					"		g.end(ending{reason: \"it was frozen for too long\", ordered: true}, 0)\n	}\n" +
					"	if limit := g.spec.OrphanLimit; limit > 0 {\n"},
				{File: "agentd/shim/deadman.go",
					Old: "		return math.MaxInt64\n",
					New: "		return min(math.MaxInt64, max(time.Second, d.since+30*time.Minute-now))\n"}},
			Hunt: tests("./agentd/shim", "TestL10FrozenForDays"),
		},
		{
			Name: "adoption-skipped", Law: "L7", Says: "an agentd that is started again does not look for what lives",
			Edits: []Edit{{File: "agentd/adopt.go",
				Old: "	all, err := a.journal.List()\n	if err != nil {\n		return err\n	}\n	shims",
				New: "	all, err := a.journal.List()\n	if err != nil || len(all) > 0 {\n		return err\n	}\n	shims"}},
			Hunt: incidents("TestI121DaemonKilledTwentyTimes|TestI07SupervisorRestartsReapNobody"),
		},
		{
			Name: "fled-orphans-forgotten", Law: "L7", Says: "a tree counts as gone when its control group is empty",
			Edits: []Edit{{File: "agentd/proc/tree.go",
				Old: "		if !reapAll() && !left {\n",
				New: "		if reapAll(); !left {\n"}},
			Hunt: tests("./agentd/proc", "TestL7OrphansThatFled"),
		},
	}
}
