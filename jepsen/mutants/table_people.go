package mutants

// peopleMutants break what is promised to a human who types, and to one who pays.
func peopleMutants() []Mutant {
	typing := tests("./fsm", "TestL6OneHuman|TestL1ATerminal|TestWatchdogsKeepOff|TestL6ATurn")
	budgets := tests("./fsm", "TestL11Budget|TestL11Lies|TestL11Usage|TestTwinOfBudgets")
	return []Mutant{
		{
			Name: "terminal-taken-over", Law: "L6", Says: "who takes a terminal gets it although somebody else types there",
			Edits: []Edit{{File: "fsm/watch/screen/typist.go", Old: "	if t != nil && (t.By == \"\" || t.By != c.By) {\n",
				New: "	if t != nil && t.By == \"\" {\n"}},
			Hunt: typing,
		},
		{
			Name: "old-turn-goes-on", Law: "L6", Says: "a turn at a terminal that is over is kept by a late key",
			Edits: []Edit{{File: "fsm/watch/screen/typist.go", Old: "	if t == nil || t.Grant != c.Grant {\n",
				New: "	if t == nil {\n"}},
			Hunt: typing,
		},
		{
			Name: "watchdogs-beside-a-human", Law: "L3", Says: "an agent is judged while a human types at its terminal",
			Edits: []Edit{{File: "fsm/watch/screen/typist.go",
				Old: "	a.Note(func(n *noun.Notes) { n.Typist = &t })\n	s.excused(a)\n",
				New: "	a.Note(func(n *noun.Notes) { n.Typist = &t })\n"}},
			Hunt: typing,
		},
		{
			Name: "spent-budget-only-warns", Law: "L11", Says: "a budget that is used up keeps nobody from anything",
			Edits: []Edit{{File: "fsm/watch/budget/used.go", Old: "		p.Stage = limit.Stage(p.Day.Sum(now))\n",
				New: "		p.Stage = min(limit.Stage(p.Day.Sum(now)), noun.StageWarned)\n"}},
			Hunt: budgets,
		},
		{
			Name: "usage-unclamped", Law: "L11", Says: "what an agent says that it has used counts, whatever it is",
			Edits: []Edit{{File: "fsm/watch/budget/used.go", Old: "	more := said.Least(noun.UsageIn(span))\n",
				New: "	more := said\n"}},
			Hunt: budgets,
		},
		{
			Name: "usage-counted-twice", Law: "L11", Says: "what a beat says that comes twice counts twice",
			Edits: []Edit{{File: "fsm/watch/budget/used.go", Old: "	case more == said:\n		next.Seen = next.Seen.Most(total)\n",
				New: "	case more == said:\n"}},
			Hunt: budgets,
		},
		{
			Name: "foreign-usage", Law: "L6", Says: "a life that was replaced still adds to what is used",
			Edits: []Edit{{File: "fsm/watch/budget/used.go", Old: "	case u.Inc < next.Inc || s.Level() < core.LevelRetry:\n",
				New: "	case s.Level() < core.LevelRetry:\n"}},
			Hunt: budgets,
		},
		{
			Name: "http-forgets-repeats", Law: "L2", Says: "a word that is repeated over HTTP counts as a new one",
			Edits: []Edit{{File: "rpc/door/writeid.go",
				Old: "	for _, name := range [...]string{code.HeaderRepeat, code.HeaderSaid} {\n",
				New: "	for _, name := range [...]string{code.HeaderTrace} {\n"}},
			Hunt: tests("./rpc", "TestN26"),
		},
	}
}
