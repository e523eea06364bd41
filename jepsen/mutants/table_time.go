package mutants

// timeMutants break how cluster time goes.
func timeMutants() []Mutant {
	return []Mutant{
		{
			Name: "stamps-unfenced", Law: "L12",
			Says: "the stamp of an entry counts although its stint is not the term of the entry",
			Edits: []Edit{{File: "fsm/core/apply.go",
				Old: "	if e.Stint == e.Term && e.Stamp > s.Meta.Clock {\n",
				New: "	if e.Stamp > s.Meta.Clock {\n"}},
			Hunt: tests("./cluster", "TestTermFence"),
		},
		{
			Name: "clock-uncapped", Law: "L10", Says: "a leader charges all of the time in which it was paused",
			Edits: []Edit{{File: "cluster/clock.go",
				Old: "gap := min(max(t.Sub(from), 0), clockGap)",
				New: "gap := max(t.Sub(from), min(clockGap, 0))"}},
			Hunt: tests("./cluster", "TestL10PausedLeaderChargesAtMostTwoSeconds"),
		},
		{
			Name: "expiry-from-wall-time", Law: "L10", Says: "entries are stamped with the wall clock of the leader",
			Edits: []Edit{{File: "cluster/clock.go",
				Old: "	c.open++\n	return c.at\n",
				New: "	c.open++\n	c.at = max(c.at, noun.Time(time.Now().UnixNano()))\n	return c.at\n"}},
			Hunt: tests("./cluster", "TestL10ClockStandsStillWithoutALeader"),
		},
	}
}
