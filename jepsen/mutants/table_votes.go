package mutants

// voteMutants break what a leader does with votes by itself, and what servers agree to pass over.
func voteMutants() []Mutant {
	votes := tests("./cluster", "TestVotesThatALeaderMoves|TestStandby")
	refusals := tests("./cluster", "TestL12AnEntryThat|TestL12AServerThat|TestL8WhatAServer|TestL8ALostServer")
	return []Mutant{
		{
			Name: "vote-lost-by-a-pause", Law: "L8", Says: "a server that is silent for a moment loses its vote",
			Edits: []Edit{{File: "cluster/seats.go", Old: "!s.leader && s.silent >= limit {\n",
				New: "!s.leader && s.silent > 0 {\n"}},
			Hunt: votes,
		},
		{
			Name: "vote-for-the-unready", Law: "L8", Says: "a server that has not learned the log gets a vote",
			Edits: []Edit{{File: "cluster/seats.go", Old: "		if !s.ready {\n", New: "		if s.voter {\n"}},
			Hunt:  votes,
		},
		{
			Name: "three-votes-become-two", Law: "L8",
			Says:  "a lost server of three is taken out of the count, so that the next loss ends the cluster",
			Edits: []Edit{{File: "cluster/seats.go", Old: "	case voters > 3 && voters%2 == 0:\n", New: "	case voters > 2:\n"}},
			Hunt:  votes,
		},
		{
			Name: "follower-calls-others-silent", Law: "promise",
			Says: "a server that follows calls servers silent that it asked when it led",
			Edits: []Edit{{File: "cluster/servers.go", Old: "case leader == n.cfg.ID && !c.at.IsZero():",
				New: "case !c.at.IsZero():"}},
			Hunt: tests("./cluster", "TestWhoFollowsCallsNobodySilent"),
		},
		{
			Name: "refused-alone", Law: "L12", Says: "a server refuses an entry that the others have not spoken of",
			Edits: []Edit{{File: "cluster/skip_agree.go", Old: "			if len(waits) == 0 {\n",
				New: "			if len(waits) < 9 {\n"}},
			Hunt: refusals,
		},
		{
			Name: "refused-although-applied", Law: "L8", Says: "an entry that another server has applied is refused",
			Edits: []Edit{{File: "cluster/skip_agree.go", Old: "		case wordBehind, wordRefuses:\n		case wordApplied:\n",
				New: "		case wordBehind, wordRefuses, wordApplied:\n		case \"\":\n"}},
			Hunt: refusals,
		},
		{
			Name: "refused-write-comes-back", Law: "L8",
			Says: "a write of an entry that was refused is carried out when it is repeated",
			Edits: []Edit{{File: "fsm/core/refuse.go", Old: "		ss.Remember(w.Seq, out)\n",
				New: "		_ = out\n"}},
			Hunt: tests("./cluster", "TestL12AnEntryThat"),
		},
		{
			Name: "refusals-not-compared", Law: "L12",
			Says: "a server does not look whether the leader has refused the same entries",
			Edits: []Edit{{File: "cluster/skip_agree.go", Old: "!slices.Equal(own, c.Refused) {\n",
				New: "len(own) > 1_000 {\n"}},
			Hunt: refusals,
		},
		{
			Name: "taken-directory-goes-on", Law: "L8", Says: "a server whose data directory is deleted goes on",
			Edits: []Edit{{File: "cluster/logstore/held.go", Old: "!os.SameFile(was, now) {\n",
				New: "was == nil && now == nil {\n"},
				{File: "cluster/logstore/held.go", Old: "		if errors.Is(err, fs.ErrNotExist) || err == nil",
					New: "		if err == nil"}},
			Hunt: tests("./cluster/logstore", "TestHeld"),
		},
	}
}

// backupMutants break what is promised of backups that are made without anybody.
func backupMutants() []Mutant {
	backups := tests("./cluster/backup", "Test")
	return []Mutant{
		{
			Name: "damaged-backup-counts", Law: "L8", Says: "the newest backup counts although it cannot be read",
			Edits: []Edit{{File: "cluster/backup/keeper.go", Old: "		err := Verify(ctx, k.Target, n)\n",
				New: "		err := ctx.Err()\n"}},
			Hunt: backups,
		},
		{
			Name: "last-good-deleted", Law: "L8",
			Says: "damaged backups are among the newest that are kept, in the place of good ones",
			Edits: []Edit{{File: "cluster/backup/keep.go",
				Old: "			if !bad[n] && n.Index <= last.Index && n.Unix <= last.Unix {\n				good++\n			}\n",
				New: "			good++\n"}},
			Hunt: backups,
		},
	}
}
