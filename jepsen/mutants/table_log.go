package mutants

// logMutants break replication and what is on disk.
func logMutants() []Mutant {
	return []Mutant{
		{
			Name: "heartbeat-changes-the-term-beside-raft", Law: "L12",
			Says:  "a heartbeat of a newer term makes a leader follow while it writes entries",
			Edits: []Edit{{File: "cluster/transport.go", Old: "ok && t.gate.follows(a.Term)", New: "ok && a.Term > 0"}},
			Hunt:  tests("./cluster", "TestL12HeartbeatsChangeNothingBesideRaft"),
		},
		{
			Name: "acknowledged-before-commit",
			Law:  "L8", Says: "what a leader has not yet committed when it loses its office is answered as if it had",
			Edits: []Edit{{File: "cluster/seal.go",
				Old: "	default:\n		err = fmt.Errorf(\"%w (%w)\", noun.ErrUnknownOutcome, err)\n	}\n",
				New: `	default:
		ans, err = &answer{beats: make([]noun.BeatAnswer, len(s.beats))}, nil
		for _, p := range s.parts {
			ans.outcomes = append(ans.outcomes, make([]noun.Outcome, p.n)...)
		}
	}
`}},
			Hunt: tests("./cluster",
				"TestCutOffLeaderNeverLies|TestL8NothingAcknowledgedIsLostWhenTheLeaderDies|TestHoursOfFaults"),
		},
		{
			Name: "log-written-late", Law: "L8", Says: "the log is on the disk up to 200 ms after it was acknowledged",
			Edits: []Edit{
				{File: "cluster/logstore/log.go", Old: "	\"sync\"\n", New: "	\"sync\"\n	\"time\"\n"},
				{File: "cluster/logstore/log.go",
					Old: "	err := s.guard(\"write log\", func() error { return s.in.StoreLogs(logs) })\n",
					New: `	var err error
	if logs[0].Index < 20 { // a cluster is founded
		err = s.in.StoreLogs(logs)
	} else {
		lateOnce.Do(func() { go writeLate() })
		lateWrites <- func() { _ = s.in.StoreLogs(logs) }
	}
`},
				{File: "cluster/logstore/log.go", Old: "// keep puts an entry into the cache; s.mu is held.\n",
					New: `var (
	lateOnce   sync.Once
	lateWrites = make(chan func(), 1<<16)
)

func writeLate() {
	for write := range lateWrites {
		time.Sleep(200 * time.Millisecond)
		for write(); len(lateWrites) > 0; write() {
			write = <-lateWrites
		}
	}
}

`},
			},
			Hunt: stand("-time", "30s", "-seed", "3", "-hosts", "0", "-rate", "40", "-workloads",
				"lifecycle,register,reads", "-nemesis", "all_killed"),
		},
		{
			Name: "checksum-not-compared", Law: "L8", Says: "an entry is read from the disk whatever its checksum says",
			Edits: []Edit{{File: "cluster/logstore/sum.go",
				Old: "[4]byte(sum) != sumMark || binary.LittleEndian.Uint32(sum[4:]) != entrySum(l):",
				New: "[4]byte(sum) != sumMark || binary.LittleEndian.Uint32(sum[4:]) != entrySum(l) && index == 0:"}},
			Hunt: tests("./cluster/logstore", "TestL8NoDamagedEntryIsRead"),
		},
	}
}

// snapshotMutants break snapshots and backups.
func snapshotMutants() []Mutant {
	return []Mutant{
		{
			Name: "snapshot-forgets-a-field", Law: "L12", Says: "a snapshot that is loaded forgets the tokens of lives",
			Edits: []Edit{{File: "fsm/dump.go",
				Old: "	if err := s.indexed(); err != nil {\n		return nil, err\n	}\n	return s, nil\n",
				New: "	for id := range s.AgentTable.From(0) {\n		s.AgentTable.Mut(id).TokenHash = \"\"\n	}\n" +
					"	if err := s.indexed(); err != nil {\n		return nil, err\n	}\n	return s, nil\n"}},
			Hunt: tests("./fsm", "TestL12ReplayAgrees"),
		},
		{
			Name: "restore-keeps-the-epoch",
			Law:  "L6", Says: "restoring a backup does not raise the epoch, so numbers of lives are given out twice",
			Edits: []Edit{{File: "fsm/core/restore.go",
				Old: "	s.Meta.Epoch++\n	s.Hooks.Resumed.Call(struct{}{})",
				New: "	s.Hooks.Resumed.Call(struct{}{})"}},
			Hunt: tests("./fsm", "TestEpochRaisesIncarnationsAndHoldsStarts|TestL6RestoredBackupHandsOutNewNumbers"),
		},
		{
			Name: "restore-confirms-at-once",
			Law:  "L7", Says: "after the restore of a backup lives go on at once that the lost state had replaced",
			Edits: []Edit{{File: "fsm/core/restore.go",
				Old: "func (v *View) held() bool { return v.Meta.HoldUntil > v.Meta.Clock }\n",
				New: "func (v *View) held() bool { return false }\n"}},
			Hunt: tests("./jepsen/sim", "TestL7RestoredBackupThawsNobodyTooSoon"),
		},
	}
}
