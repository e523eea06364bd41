package mutants

// taskMutants break what is promised of tasks.
func taskMutants() []Mutant {
	return []Mutant{
		{
			Name: "old-attempt-completes", Law: "L6", Says: "an attempt that is over may complete the task",
			Edits: []Edit{{File: "fsm/core/attempts.go",
				Old: "last := t.Holder == a.ID && t.HolderInc == w.Inc && t.Attempt == w.Attempt\n",
				New: "last := t.Holder == a.ID && t.HolderInc == w.Inc && t.Attempt >= w.Attempt\n"}},
			Hunt: tests("./fsm", "TestF15LateResultsOfOwnAttemptsOnly|TestTwinAgrees"),
		},
		{
			Name: "finished-task-reopens", Law: "L8", Says: "a task that was canceled may still be completed",
			Edits: []Edit{{File: "fsm/core/attempts.go",
				Old: "	case last && !t.State.Terminal():\n		return a, t, noun.Outcome{}, true\n",
				New: "	case last && t.State != noun.TaskCompleted:\n		return a, t, noun.Outcome{}, true\n"}},
			Hunt: stand("-time", "30s", "-seed", "3", "-hosts", "0", "-rate", "60", "-workloads", "claim",
				"-nemesis", "leadership_moved"),
		},
		{
			Name: "recovered-twice", Law: "L8", Says: "a task that was canceled is given back when its holder leaves",
			Edits: []Edit{{File: "fsm/core/tasks.go",
				Old: "	s.takeTask(a)\n	if a.Managed && s.Level() >= LevelRetry {\n",
				New: "	s.LeaseTable.Mut(a.ID).Vouch = false\n	if a.Managed && s.Level() >= LevelRetry {\n"}},
			Hunt: stand("-time", "30s", "-seed", "3", "-hosts", "0", "-rate", "60", "-workloads", "claim",
				"-nemesis", "leadership_moved"),
		},
		{
			Name: "claimed-twice", Law: "L8", Says: "a task that somebody works on may be claimed by its number",
			Edits: []Edit{{File: "fsm/core/work.go", Old: "	case t.State != noun.TaskPending:\n",
				New: "	case t.State != noun.TaskPending && t.State != noun.TaskInProgress:\n"}},
			Hunt: stand("-time", "30s", "-seed", "3", "-hosts", "0", "-rate", "60", "-workloads", "claim",
				"-nemesis", "leadership_moved"),
		},
		{
			Name: "next-applied-twice", Law: "L8",
			Says: "the end of a task that takes the next one is carried out again when it is repeated",
			Edits: []Edit{{File: "fsm/core/apply.go", Old: "	if out, ok := ss.Answer(r.Seq); ok {\n",
				New: "	if out, ok := ss.Answer(r.Seq); ok && (out.Task == 0 || out.Count == 0) {\n"}},
			Hunt: tests("./fsm", "TestL8NextIsDoneOnce"),
		},
		{
			Name: "next-takes-two", Law: "L8", Says: "who ends a task gets another one beside the one that it holds already",
			Edits: []Edit{{File: "fsm/core/next.go",
				Old: "	out := Claim{Speaker: *sp, Start: start}.Apply(s)\n",
				New: "	if a, _ := s.leased(sp); a != nil {\n		a.Task = 0\n	}\n" +
					"	out := Claim{Speaker: *sp, Start: start}.Apply(s)\n"}},
			Hunt: tests("./fsm", "TestL8NextWithoutANumber"),
		},
		{
			Name: "next-of-the-refused", Law: "L6", Says: "an end that is refused takes the next task all the same",
			Edits: []Edit{{File: "fsm/core/next.go", Old: "	if !c.Next || out.Code != noun.OK {\n",
				New: "	if !c.Next {\n"}},
			Hunt: tests("./fsm", "TestL6NextOfARefusedEnd"),
		},
		{
			Name: "budget-of-tasks-only", Law: "L11",
			Says: "of all that clients make grow only tasks are refused when a budget is used up",
			Edits: []Edit{{File: "fsm/core/purse.go", Old: "	if bytes <= 0 {\n		return noun.Outcome{}\n",
				New: "	if bytes <= 0 || p != noun.ForTasks {\n		return noun.Outcome{}\n"}},
			Hunt: stand("-time", "45s", "-seed", "3", "-hosts", "0", "-rate", "60", "-workloads", "flood",
				"-nemesis", "leadership_moved"),
		},
		{
			Name: "outage-charged", Law: "L8",
			Says: "attempts and deaths are charged to a task also while its role is half-open",
			Edits: []Edit{{File: "fsm/core/tasks.go",
				Old: "	spec, shielded := &s.RoleTable.Get(t.Role).Spec, s.Shielded(t)\n",
				New: "	spec, shielded := &s.RoleTable.Get(t.Role).Spec, false\n"}},
			Hunt: stand("-time", "60s", "-seed", "3", "-workloads", "outage", "-nemesis", "dependency_down"),
		},
		{
			Name: "retried-at-once", Law: "L8", Says: "a task that was given back does not wait for its next attempt",
			Edits: []Edit{{File: "fsm/core/retry.go", Old: "	case delay > 0:\n", New: "	case delay > noun.MaxAfter:\n"}},
			Hunt:  stand("-time", "60s", "-seed", "3", "-workloads", "outage", "-nemesis", "dependency_down"),
		},
	}
}
