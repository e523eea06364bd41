package mutants

// lifeMutants break fencing: which life may say what.
func lifeMutants() []Mutant {
	return []Mutant{
		{
			Name: "hold-of-the-backup-only",
			Law:  "L7", Says: "the hold after a restore goes by the TTLs of the backup alone",
			Edits: []Edit{{File: "fsm/core/restore.go",
				Old: "max(s.longestTTL(), replaced.longestTTL(), old.HoldUntil.Sub(old.Clock))",
				New: "max(s.longestTTL(), old.HoldUntil.Sub(old.HoldUntil))"}},
			Hunt: tests("./jepsen/sim", "TestRareFaultsOfServers/backup"),
		},
		{
			Name: "confirm-by-time", Law: "L7",
			Says: "an agent whose role says policy confirm is started elsewhere once its fence has ended",
			Edits: []Edit{{File: "fsm/core/life.go", Old: "	if !proven && s.confirmed(a) {\n",
				New: "	if !proven && s.confirmed(a) && a.ID == 0 {\n"}},
			Hunt: tests("./fsm", "TestN35"),
		},
		{
			Name: "namesake-speaks", Law: "L6",
			Says: "the last life of a deleted agent is taken for that of its namesake",
			Edits: []Edit{{File: "fsm/core/work.go", Old: "	case sp.Inc == a.Inc && s.unborn(a):\n",
				New: "	case sp.Inc == a.Inc && s.unborn(a) && a.ID == 0:\n"}},
			Hunt: stand("-time", "30s", "-seed", "3", "-hosts", "0", "-workloads", "rooms", "-nemesis",
				"leadership_moved"),
		},
		{
			Name: "session-ends-early", Law: "L8",
			Says: "the session of a client ends while it still repeats its writes",
			Edits: []Edit{{File: "fsm/core/deadlines.go", Old: "From: ss.Used, Span: v.Meta.Settings.SessionTTL}",
				New: "From: ss.Used, Span: v.Meta.Settings.SessionTTL / 2}"}},
			Hunt: tests("./fsm", "TestF05"),
		},
		{
			Name: "word-of-an-older-life", Law: "L6",
			Says: "what a superseded life says counts, if its token was right",
			Edits: []Edit{
				{File: "fsm/core/work.go", Old: "	case sp.Inc < a.Inc:\n",
					New: "	case sp.Inc == 0 && a.Inc > 0:\n"},
				{File: "fsm/core/work.go", Old: "	case string(sp.TokenHash) != a.TokenHash:",
					New: "	case sp.Inc == a.Inc && string(sp.TokenHash) != a.TokenHash:"},
			},
			Hunt: tests("./fsm", "TestL6"),
		},
		{
			Name: "beat-of-an-older-life", Law: "L6",
			Says: "the beats of a superseded life renew the lease of the newer one",
			Edits: []Edit{{File: "fsm/core/beats.go", Old: "if l == nil || l.Inc != beat.Inc ||",
				New: "if l == nil || l.Inc < beat.Inc ||"}},
			Hunt: tests("./fsm", "TestL6|TestL7|TestTwinAgrees"),
		},
	}
}

// leaseMutants break the times of fencing: when a lease and a fence are over.
func leaseMutants() []Mutant {
	return []Mutant{
		{
			Name: "late-beat-revives", Law: "L2", Says: "a beat renews a lease that has ended",
			Edits: []Edit{{File: "fsm/core/beats.go",
				Old: "	case kinds&BeatLease != 0 && l.Until <= now:\n		ok = false\n",
				New: "	case kinds&BeatLease != 0 && l.Until == 0:\n		ok = false\n"}},
			Hunt: tests("./fsm", "TestF|TestL2|TestTwinAgrees|TestF5NetworkPartition"),
		},
		{
			Name: "lease-never-ends", Law: "L2", Says: "the end of a lease leaves the task with its silent holder",
			Edits: []Edit{{File: "fsm/core/life.go",
				Old: "		s.takeBack(t, e)\n",
				New: "		if !e.charge {\n			s.takeBack(t, e)\n		}\n"}},
			Hunt: tests("./fsm", "TestL2"),
		},
		{
			Name: "end-lost-in-its-words", Law: "L11",
			Says: "the report of an end is refused when the agent has printed that it waits for a thousand years",
			Edits: []Edit{{File: "rpc/hosts/commands.go",
				Old: "		RetryAfter: min(max(r.GetRetryAfter().AsDuration(), 0), fsm.MaxUsagePause)}\n",
				New: "		RetryAfter: c.Duration(\"retry_after\", r.GetRetryAfter())}\n"}},
			Hunt: tests("./rpc/hosts", "TestA01"),
		},
		{
			Name: "fence-too-short", Law: "L7, L10",
			Says: "the cluster ends a fence after half of the time for which its shim relies on it",
			Edits: []Edit{{File: "fsm/core/beats.go", Old: "		l.Fence = s.beaten(l)\n",
				New: "		l.Fence = now + noun.Time(l.TTL)*3/8\n"}},
			Hunt: stand("-time", "30s", "-seed", "3", "-workloads", "lifecycle,dedup", "-nemesis",
				"cut_both_ways,cut_from_host"),
		},
	}
}
