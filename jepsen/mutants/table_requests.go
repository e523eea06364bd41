package mutants

// requestMutants break what is promised of single calls.
func requestMutants() []Mutant {
	return []Mutant{
		{
			Name: "dedup-outside-the-log", Law: "L8",
			Says: "a server remembers in memory which write ids it has answered, and the state machine does not",
			Edits: []Edit{
				{File: "fsm/core/apply.go",
					Old: "	if out, ok := ss.Answer(r.Seq); ok {\n",
					New: "	if out, ok := ss.Answer(r.Seq); ok && r.Seq == 0 {\n"},
				{File: "rpc/base/core.go", Old: "import (\n	\"context\"\n",
					New: "import (\n	\"context\"\n	\"sync\"\n"},
				{File: "rpc/base/core.go",
					Old: "	out, err := c.Writer.Submit(ctx, said[0])\n	if err != nil {\n		return out, err\n	}\n" +
						"	if out.Code != noun.OK {\n		return out, fault.Refusal(&out)\n	}\n	return out, nil\n}\n",
					New: `	key := [2]uint64{uint64(req.Session), req.Seq}
	if known, ok := answeredHere.Load(key); ok && req.Seq != 0 {
		if out := known.(noun.Outcome); out.Code != noun.OK {
			return out, fault.Refusal(&out)
		}
		return known.(noun.Outcome), nil
	}
	out, err := c.Writer.Submit(ctx, said[0])
	if err != nil {
		return out, err
	}
	answeredHere.Store(key, out)
	if out.Code != noun.OK {
		return out, fault.Refusal(&out)
	}
	return out, nil
}

var answeredHere sync.Map
`},
			},
			Hunt: stand("-time", "20s", "-seed", "3", "-hosts", "0", "-workloads", "requests,lifecycle",
				"-nemesis", "leader_killed,leadership_moved"),
		},
		{
			Name: "dead-address-takes-the-beat", Law: "L2",
			Says:  "a client gives one address that swallows calls the whole time of a beat, each time the same",
			Edits: []Edit{{File: "rpc/client/route.go", Old: "time.Until(end)/dialShare", New: "time.Until(end)"}},
			Hunt:  tests("./rpc/client", "TestShortLeaseOutlivesAddressesThatSwallowCalls"),
		},
	}
}

// memberMutants break what a server makes of the words of others, said once or again.
func memberMutants() []Mutant {
	return []Mutant{
		{
			Name: "unannounced-member-refuses",
			Law:  "L3", Says: "as long as a member has not announced itself nothing can be written",
			Edits: []Edit{{File: "cluster/levels.go",
				Old: "	if need <= fsm.Baseline || l.begun(req.Cmd, need) {\n",
				New: "	if slices.ContainsFunc(l.Servers(), func(s Server) bool { return s.Features == 0 }) {\n" +
					"		return noun.ErrOldServers\n	}\n	if need <= fsm.Baseline || l.begun(req.Cmd, need) {\n"}},
			Hunt: tests("./cluster", "TestF01"),
		},
		{
			Name: "snapshot-wakes-nobody", Law: "L3",
			Says: "a server that is sent a snapshot lets its waiters wait for what came with it",
			Edits: []Edit{{File: "rpc/park/park.go", Old: "	if eff.Reset {\n",
				New: "	if eff.Reset && eff.More {\n"}},
			Hunt: tests("./rpc", "TestF09"),
		},
		{
			Name: "newest-waiter-first", Law: "L3",
			Says: "the leader gives a new task to whoever has come last",
			Edits: []Edit{{File: "rpc/park/matches.go", Old: "	for x := q.first; x != nil; x = x.next {\n",
				New: "	for x := q.last; x != nil; x = x.prev {\n"}},
			Hunt: tests("./rpc", "TestACreatedTask"),
		},
		{
			Name: "next-life-takes-the-slot", Law: "L3",
			Says: "the life after one that has ended takes the slot of a full host before those who wait for it",
			Edits: []Edit{{File: "rpc/hosts/nextlives.go", Old: "	if st.DueRoles() > 0 && st.Misfit(h, a) != \"\" {\n",
				New: "	if st.DueRoles() > 1_000_000 && st.Misfit(h, a) != \"\" {\n"}},
			Hunt: tests("./rpc", "TestL3ANextLife"),
		},
		{
			Name: "lost-stream-taken-for-unsent", Law: "L8",
			Says:  "a call whose stream ends is taken for one that was never sent, and sent again without a number",
			Edits: []Edit{{File: "rpc/link/calls.go", Old: "	c.tellPeer(opts)\n	select {\n", New: "	select {\n"}},
			Hunt:  tests("./rpc/link", "TestStreamEndsUnderItsCalls"),
		},
		{
			Name: "refused-claim-handed-out", Law: "L3",
			Says:  "the outcome of a claim that the leader appends is not looked at",
			Edits: []Edit{{File: "rpc/wait.go", Old: "	if out.Code != noun.OK {\n", New: "	if out.Code > 1_000 {\n"}},
			Hunt:  tests("./rpc", "TestARefusedMatch"),
		},
		{
			Name: "repeated-word-renews", Law: "L2",
			Says: "what is said again renews the lease of its speaker like something new",
			Edits: []Edit{{File: "rpc/door/said.go",
				Old: "	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderRepeat)) > 0 {\n",
				New: "	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderRepeat)) > 9 {\n"}},
			Hunt: tests("./rpc", "TestN26"),
		},
		{
			Name: "retry-without-its-number",
			Law:  "L8", Says: "a server that passes a write on repeats it without its write id",
			Edits: []Edit{
				{File: "rpc/door/forward.go",
					Old: "		if err := st.next(ctx, pause, f.stop); err != nil {\n" +
						"			return nil, f.giveUp(st, maybe, err)\n		}\n	}\n}\n",
					New: `		if err := st.next(ctx, pause, f.stop); err != nil {
			return nil, f.giveUp(st, maybe, err)
		}
		if p, ok := req.(proto.Message); ok && was == unknown {
			p = proto.Clone(p)
			if id := p.ProtoReflect().Descriptor().Fields().ByName("id"); id != nil {
				p.ProtoReflect().Clear(id)
			}
			req = p
		}
	}
}
`},
			},
			Hunt: stand("-time", "30s", "-seed", "3", "-hosts", "0", "-workloads", "lifecycle,requests,register",
				"-nemesis", "forwards_lost,leader_paused"),
		},
	}
}

// readMutants break what is promised of reads, watches and doors.
func readMutants() []Mutant {
	return []Mutant{
		{
			Name: "local-read", Law: "reads",
			Says: "every server answers reads from its own state, asked for stale ones or not",
			Edits: []Edit{{File: "rpc/door/methods.go", Old: "m.nature == code.Read && r.GetStale()\n",
				New: "m.nature == code.Read && (r.GetStale() || ok)\n"}},
			Hunt: stand("-time", "20s", "-seed", "3", "-hosts", "0", "-workloads", "reads,register", "-nemesis",
				"links_slow,server_paused"),
		},
		{
			Name: "read-before-it-has-caught-up", Law: "reads",
			Says: "a follower answers reads without waiting for what the leader had",
			Edits: []Edit{{File: "rpc/base/core.go", Old: "	return now, c.Park.Gate.Await(ctx, now.GetIndex())\n",
				New: "	return now, nil\n"}},
			// On a stand the leader's question to the log brings a follower up to date nearly always.
			Hunt: tests("./rpc", "TestReadsGoToTheLeaderWhenTheFollowerIsBehind"),
		},
		{
			Name: "round-joined-late", Law: "reads",
			Says: "a read takes the answer to a question that was asked before it",
			Edits: []Edit{
				{File: "rpc/base/rounds.go", Old: "		x.answer, x.err = r.ask()\n",
					New: "		r.mu.Lock()\n		r.next = x\n		r.mu.Unlock()\n		x.answer, x.err = r.ask()\n"},
				{File: "rpc/base/rounds.go", Old: "if x, r.next = r.next, nil; x == nil {\n",
					New: "if x, r.next = nil, nil; x == nil {\n"},
			},
			Hunt: tests("./rpc/base", "TestRounds"),
		},
		{
			Name: "event-skipped", Law: "watch", Says: "a watch that is resumed misses one event",
			Edits: []Edit{{File: "rpc/watch.go",
				Old: "	if at > newest {\n		return 0, 0, 0, ahead(at, newest)\n",
				New: "	if r.GetAfter() > 0 && at < newest {\n		at++\n	}\n	if at > newest {\n" +
					"		return 0, 0, 0, ahead(at, newest)\n"}},
			Hunt: stand("-time", "20s", "-seed", "3", "-hosts", "0", "-workloads", "watch,register", "-nemesis",
				"connections_reset"),
		},
		{
			Name: "pages-speak", Law: "S6", Says: "a web page of another site makes a browser change the fleet",
			Edits: []Edit{{File: "rpc/door/foreign_pages.go",
				Old: "	if (site == \"cross-site\" || site == \"same-site\") && !opened || p.cross.Check(r) != nil {",
				New: "	if (site == \"cross-site\" || site == \"same-site\") && !opened && p.cross.Check(r) != nil {"}},
			Hunt: tests("./rpc", "TestS06"),
		},
		{
			Name: "terminal-speaks-for-an-agent",
			Law:  "L6", Says: "a command that names no agent speaks for the one that was begun by hand under its home",
			Edits: []Edit{
				{File: "cmd/vigil/life/life.go",
					Old: "	case l.Agent == \"\":\n		return nil, ErrNobody\n",
					New: `	case l.Agent == "":
		home, err := HomeFile(a, "x/y")
		if err != nil {
			return nil, ErrNobody
		}
		names, _ := filepath.Glob(filepath.Join(filepath.Dir(home), "*.json"))
		for _, name := range names {
			if kept, err := readLife(name); err == nil && kept.Owner.Alive() {
				return kept, nil
			}
		}
		return nil, ErrNobody
`},
				{File: "cmd/vigil/life/life.go", Old: "	\"errors\"\n	\"fmt\"\n",
					New: "	\"errors\"\n	\"fmt\"\n	\"path/filepath\"\n"},
			},
			Hunt: tests("./cmd/vigil", "TestN01"),
		},
	}
}
