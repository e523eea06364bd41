package mutants

// identityMutants each drop one check of who speaks, and of what they may say.
func identityMutants() []Mutant {
	var all []Mutant
	for _, part := range [][]Mutant{permitMutants(), ownMutants(), credentialMutants(), tokenMutants(), raftMutants(),
		localMutants(), pageMutants(), carryMutants()} {
		all = append(all, part...)
	}
	return all
}

// doors is the hunt of nearly all that the door checks.
func doors(run string) Hunt { return tests("./rpc/door", run) }

// permitMutants drop checks of the table of methods, and of roles and their rooms.
func permitMutants() []Mutant {
	const guard = "rpc/door/guard.go"
	return []Mutant{
		{
			Name: "table-of-methods-not-asked", Law: "identity", Says: "whoever has an identity may call every method",
			Edits: []Edit{{File: guard, Old: "	switch p.As() {\n	case who.Server:\n",
				New: "	if p.Kind != who.Nobody {\n		return nil\n	}\n	switch p.As() {\n	case who.Server:\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "people-call-as-machines", Law: "identity",
			Says: "an admin makes the calls that are for hosts and servers only",
			Edits: []Edit{{File: guard, Old: "	if permit.Role == code.NoRole {\n		return notFor(p, permit)\n",
				New: "	if permit.Role == code.NoRole && len(p.Rights) == 0 {\n		return notFor(p, permit)\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "calls-of-servers-are-open", Law: "identity",
			Says: "whoever has an identity makes the calls that only servers make",
			Edits: []Edit{{File: "rpc/code/permits.go", Old: "return Permit{Does: does, Server: true}",
				New: "return Permit{Does: does, Server: true, Known: true}"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "role-holds-in-all-rooms", Law: "identity", Says: "a role in one room holds in all of them",
			Edits: []Edit{{File: guard, Old: "		if !p.May(permit.Role, room) {\n",
				New: "		if !p.May(permit.Role, room) && !p.MaySomewhere(permit.Role) {\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied|TestRequestsAreAboutTheirRooms"),
		},
		{
			Name: "grants-of-more-than-one-holds", Law: "identity",
			Says: "an operator of one room grants the agents of a role what the operator may not do",
			Edits: []Edit{{File: "rpc/door/grants.go",
				Old: "need, _ := code.ParseRole(b.GetRole()); !p.May(max(need, code.Viewer), b.GetRoom()) {",
				New: "need, _ := code.ParseRole(b.GetRole()); !p.MaySomewhere(max(need, code.Viewer)) {"}},
			Hunt: doors("TestNobodyGrantsMoreThanTheyHold"),
		},
		{
			Name: "grants-of-admin", Law: "identity", Says: "a room may grant its agents to be admin",
			Edits: []Edit{{File: "fsm/noun/grant.go", Old: "g.Role >= Admin", New: "g.Role > Admin"}},
			Hunt:  tests("./fsm", "TestGrants"),
		},
		{
			Name: "connections-grow-old", Law: "L3",
			Says:  "a connection is never replaced, and is refused when the certificate that it has shown runs out",
			Edits: []Edit{{File: "rpc/door/door.go", Old: "MaxConnectionAge: age}", New: "MaxConnectionAge: 1000 * age}"}},
			Hunt:  tests("./rpc", "TestConnectionsAreReplacedBeforeTheirCertificatesRunOut"),
		},
		{
			Name: "stream-outlives-its-connection", Law: "L3",
			Says: "calls go on over a stream of a connection that the server wants to replace",
			Edits: []Edit{{File: "rpc/link/calls.go", Old: "k.WaitForStateChange(ctx, connectivity.Ready)",
				New: "k.WaitForStateChange(ctx, connectivity.Ready) && ctx.Err() != nil"}},
			Hunt: tests("./rpc/link", "TestStreamsMoveToNewConnections"),
		},
		{
			Name: "long-command-shows-an-old-certificate", Law: "L3",
			Says: "a command that runs for days shows the certificate with which it began, whoever has renewed it",
			Edits: []Edit{{File: "cmd/vigil/cli/identity.go", Old: "self.Name == now.Name && self.Serial != now.Serial",
				New: "self.Name == now.Name && self.Serial == now.Serial"}},
			Hunt: tests("./cmd/vigil/cli", "TestLongCommandsTakeUpWhatOthersHaveRenewed"),
		},
		{
			Name: "too-old-server-lends-its-name", Law: "L7",
			Says: "what a server sends on whose certificate has run out is taken for its own call",
			Edits: []Edit{{File: guard, Old: "return who.Claim{}, false, g.sendsNothingOn(c, err)",
				New: "return c, false, err"}},
			Hunt: tests("./rpc", "TestL7ServerThatIsTooOldLendsItsNameToNobody"),
		},
		{
			Name: "certificate-of-another-taken", Law: "L7",
			Says: "a program that renews its certificate takes that of another one",
			Edits: []Edit{{File: "cmd/vigil/join/join.go", Old: "ok && got.Name != self.Name",
				New: "ok && got.Cluster != self.Cluster"}},
			Hunt: tests("./cmd/vigil/join", "TestL7CertificateOfAnotherIsNotTaken"),
		},
		{
			Name: "claim-passed-on-by-anybody", Law: "identity", Says: "whoever has a certificate says for whom a call is made",
			Edits: []Edit{{File: guard, Old: "		forwarded = c.Kind == who.Server\n",
				New: "		forwarded = c.Kind != who.Nobody\n"}},
			Hunt: doors("TestForgedHeadersAreNotBelieved"),
		},
		{
			Name: "leader-does-not-check-again", Law: "identity",
			Says: "what another server has let through counts, whatever the leader knows of its caller",
			Edits: []Edit{{File: guard, Old: "	if !forwarded {\n		ctx = withoutMarks(ctx)\n	}\n",
				New: "	if !forwarded {\n		ctx = withoutMarks(ctx)\n	} else {\n		err = nil\n	}\n"}},
			Hunt: doors("TestTheLeaderJudgesWhatAnotherServerLetThrough"),
		},
	}
}

// ownMutants drop checks that machines and agents speak for themselves only.
func ownMutants() []Mutant {
	const own = "rpc/door/own.go"
	return []Mutant{
		{
			Name: "server-announces-another", Law: "identity", Says: "a server tells the cluster about another one",
			Edits: []Edit{{File: own, Old: "	case *vigilv1.AnnounceServerRequest:\n		return r.GetId() == id\n",
				New: "	case *vigilv1.AnnounceServerRequest:\n		return r.GetId() != \"\"\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "host-registers-another", Law: "identity", Says: "a host registers and leaves under the key of another one",
			Edits: []Edit{{File: own, Old: "		if r.GetKey() == key {\n", New: "		if r.GetKey() != \"\" {\n"}},
			Hunt:  doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "host-reports-for-another", Law: "L7", Says: "a host reports and beats by the number of another one",
			Edits: []Edit{{File: own, Old: "		case host != nil && host.Key != key:\n",
				New: "		case host != nil && host.Key == \"\":\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "life-on-another-host", Law: "L7", Says: "a host speaks for lives that run on another one",
			Edits: []Edit{{File: own, Old: "		case !sameHost(st, a.Host, key) && (",
				New: "		case a.ID == 0 && !sameHost(st, a.Host, key) && ("}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
		{
			Name: "older-life-reads", Law: "L6", Says: "a life that is over reads what the present one may read",
			Edits: []Edit{{File: own, Old: "		case inc < a.Inc:\n			err = fault.New(code.Superseded,",
				New: "		case a.ID == 0 && inc < a.Inc:\n			err = fault.New(code.Superseded,"}},
			Hunt: doors("TestUnknownLivesAreNotDeniedTheirWords"),
		},
		{
			Name: "agent-speaks-for-its-neighbour", Law: "L6",
			Says: "an agent speaks through its socket for another one on its host",
			Edits: []Edit{{File: own,
				Old: "	if sp.GetAgent() != life.Agent || sp.GetIncarnation() != life.Incarnation {\n",
				New: "	if sp.GetAgent() == \"\" || sp.GetIncarnation() == 0 {\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied"),
		},
	}
}

// credentialMutants drop checks of certificates.
func credentialMutants() []Mutant {
	const identity = "rpc/vouch/identity.go"
	return []Mutant{
		{
			Name: "revoked-certificates-count", Law: "identity", Says: "a certificate of a generation that was revoked counts",
			Edits: []Edit{{File: identity, Old: "	case c.Generation < s.Generation:\n",
				New: "	case c.Generation < s.Generation && s.Generation == 0:\n"}},
			Hunt: tests("./rpc/vouch", "TestClaimsAreJudged"),
		},
		{
			Name: "signed-by-a-revoked-server", Law: "identity",
			Says: "what a server has signed counts, also what it signs after it was revoked",
			Edits: []Edit{{File: "rpc/vouch/standing.go",
				Old: "		s.Void = k == nil || c.Serial != k.Serial && c.Serial != k.Before\n",
				New: "		s.Void = k == nil && c.Serial == \"\"\n"}},
			Hunt: tests("./rpc", "TestWhatARevokedServerSignsIsVoid"),
		},
		{
			Name: "certificates-never-age", Law: "identity", Says: "a certificate counts for ever by the cluster's clock",
			Edits: []Edit{{File: identity, Old: "	case age < life:\n", New: "	case age < 10000*life:\n"}},
			Hunt:  tests("./rpc/vouch", "TestClaimsAreJudged"),
		},
		{
			Name: "clones-renew", Law: "L7", Says: "two machines with a copy of one key both renew its certificate",
			Edits: []Edit{{File: "fsm/trust/credential.go", Old: "	case !repeated:\n",
				New: "	case !repeated && k.ID == 0:\n"}},
			Hunt: tests("./fsm", "TestTrustClonesAreFound"),
		},
		{
			Name: "host-serves", Law: "identity", Says: "clients take a host's certificate for that of a server",
			Edits: []Edit{{File: "rpc/trust/holder.go", Old: "			if err == nil && p.Kind != Server {\n",
				New: "			if err == nil && p.Kind == \"\" {\n"}},
			Hunt: tests("./rpc/trust", "TestStrangersAreTurnedAway"),
		},
	}
}

// tokenMutants drop checks of the tokens by which one joins.
func tokenMutants() []Mutant {
	const token = "fsm/trust/token.go"
	return []Mutant{
		{
			Name: "token-used-for-ever", Law: "identity", Says: "a token of one use lets in as many as there are",
			Edits: []Edit{{File: token, Old: "	s.TokenTable.Mut(t.ID).Uses--\n", New: "	s.TokenTable.Mut(t.ID).Uses -= 0\n"}},
			Hunt:  tests("./fsm", "TestTrustTokenIsUsedAsOftenAsItSays"),
		},
		{
			Name: "token-never-ends", Law: "identity", Says: "a token lets in after its time",
			Edits: []Edit{{File: token, Old: "	if t.End <= s.Meta.Clock {\n",
				New: "	if t.End <= s.Meta.Clock && t.ID == 0 {\n"}},
			Hunt: tests("./fsm", "TestTrustTokensEnd"),
		},
		{
			Name: "secret-not-compared", Law: "identity",
			Says: "whoever knows the number of a token is let in, whatever the secret",
			Edits: []Edit{{File: token, Old: " || t.Hash != string(c.SecretHash) {", New: " {"},
				{File: "rpc/vouch/service.go", Old: "		return token != nil && token.Hash == string(hash)\n",
					New: "		return token != nil && len(hash) > 0\n"}},
			Hunt: tests("./fsm", "TestTrustTokenIsUsedAsOftenAsItSays"),
		},
		{
			Name: "token-of-another-kind", Law: "identity", Says: "a token for a host lets a server in",
			Edits: []Edit{{File: token, Old: "	if t.Kind != c.Kind || t.Name != \"\" && t.Name != c.Name {\n",
				New: "	if t.Name != \"\" && t.Name != c.Name {\n"}},
			Hunt: tests("./fsm", "TestTrustTokenIsUsedAsOftenAsItSays|TestTrustBoundToken|TestTrustRefuses"),
		},
	}
}

// raftMutants drop checks of the port of the log.
func raftMutants() []Mutant {
	const conn = "cluster/wire/conn.go"
	return []Mutant{
		{
			Name: "hosts-write-the-log", Law: "L8", Says: "a host's certificate is as good as a server's on the port of the log",
			Edits: []Edit{{File: "cmd/vigil/serve/identity.go", Old: "	if err == nil && p.Kind != trust.Server {\n",
				New: "	if err == nil && p.Kind == \"\" {\n"}},
			Hunt: tests("./cmd/vigil/serve", "TestOnlyServersReachTheLog"),
		},
		{
			Name: "whoever-is-at-the-address", Law: "L8", Says: "a server sends the log to whichever server is at an address",
			Edits: []Edit{{File: conn, Old: "	case want != \"\" && want != p.ID:\n",
				New: "	case want != \"\" && p.ID == \"\":\n"}},
			Hunt: tests("./cluster/wire", "TestWhoeverElseIsAtAnAddressIsNotSpokenTo"),
		},
		{
			Name: "requests-in-anothers-name", Law: "L8", Says: "a server sends requests in the name of another one",
			Edits: []Edit{{File: "cluster/wire/serve.go", Old: "	if said == p.ID {\n", New: "	if said != \"\" {\n"}},
			Hunt:  tests("./cluster/wire", "TestServersProveWhoTheyAre|TestStrangersReachNobody"),
		},
		{
			Name: "removed-server-speaks-on", Law: "L8", Says: "a server that was revoked is heard on the port of the log",
			Edits: []Edit{{File: conn, Old: "	case c.layer.cfg.Revoked(*p):\n",
				New: "	case p.ID == \"\" && c.layer.cfg.Revoked(*p):\n"}},
			Hunt: tests("./cluster/wire", "TestRevokedServersAreCutOff|TestStrangersReachNobody"),
		},
		{
			Name: "terms-leap", Law: "L8", Says: "a term near 2^64 is taken over, and no election follows any more",
			Edits: []Edit{{File: "cluster/gate.go", Old: "	if term <= own || term-own <= termLeap {\n",
				New: "	if term <= own || term > own {\n"}},
			Hunt: tests("./cluster", "TestForgedTermsReachNoServer"),
		},
	}
}

// localMutants drop checks on the way from an agent to its host.
func localMutants() []Mutant {
	return []Mutant{
		{
			Name: "any-account-at-the-socket", Law: "L6", Says: "every account of a machine speaks through the socket of a life",
			Edits: []Edit{{File: "agentd/local/peer_linux.go", Old: "	return ok && (uid == 0 || uid == owner)\n",
				New: "	return ok && (uid >= 0 || uid == owner)\n"}},
			Hunt: tests("./agentd/local", "TestOtherAccountsAreRefused"),
		},
		{
			Name: "any-call-through-the-socket", Law: "L6", Says: "agents make every call through the socket of their life",
			Edits: []Edit{{File: "agentd/local/rules.go",
				Old: "		return r.URL.Path, r.Method == http.MethodPost && mayCall(r.URL.Path)\n",
				New: "		return r.URL.Path, r.Method == http.MethodPost\n"}},
			Hunt: tests("./agentd/local", "TestOnlyCallsOfAgentsPass"),
		},
	}
}

// pageMutants drop checks of what browsers send; pages-speak is another one.
func pageMutants() []Mutant {
	const pages = "rpc/door/foreign_pages.go"
	return []Mutant{
		{
			Name: "any-name-of-the-server", Law: "S6", Says: "a server answers under whichever name points at it",
			Edits: []Edit{{File: pages, Old: "	if !p.knows(r.Host) {\n", New: "	if !p.knows(r.Host) && r.Host == \"\" {\n"}},
			Hunt:  tests("./rpc", "TestS06"),
		},
		{
			Name: "any-type-of-body", Law: "S6", Says: "what a form of a web page sends is read as JSON",
			Edits: []Edit{{File: pages, Old: "err != nil || kind != \"application/json\" {",
				New: "err != nil && kind == \"application/json\" {"}},
			Hunt: tests("./rpc", "TestS06"),
		},
	}
}

// carryMutants break calls that come over a stream of many.
func carryMutants() []Mutant {
	const carry = "rpc/door/carry.go"
	return []Mutant{
		{
			Name: "carried-calls-unguarded", Law: "identity",
			Says: "whoever may open a stream of calls makes every call over it",
			Edits: []Edit{{File: carry,
				Old: "		return o.unary(ctx, req, info, func(ctx context.Context, req any) (any, error) {\n" +
					"			return f.unary(ctx, req, info, h)\n		})\n",
				New: "		next := func(ctx context.Context, req any) (any, error) {\n" +
					"			return f.unary(ctx, req, info, h)\n		}\n" +
					"		if _, ok := grpc.ServerTransportStreamFromContext(ctx).(*carriedCall); ok {\n" +
					"			return next(ctx, req)\n		}\n		return o.unary(ctx, req, info, next)\n"}},
			Hunt: doors("TestEveryCallIsAllowedOrDenied|TestCarried"),
		},
		{
			Name: "words-of-the-call-before", Law: "identity",
			Says: "what is said of one call of a stream counts for those after it, too",
			Edits: []Edit{{File: carry, Old: "		md := make(metadata.MD, len(t.md)+len(kv)/2)\n",
				New: "		md := t.md\n"}},
			Hunt: doors("TestCarriedHeadersAreNotBelieved"),
		},
		{
			Name: "carried-calls-of-any-size", Law: "identity", Says: "a call over a stream may be as long as the stream takes",
			Edits: []Edit{{File: carry, Old: "	if r.size = len(c.call.GetRequest()); r.size > r.most {\n",
				New: "	if r.size = 0; len(c.call.GetRequest()) > code.MaxMessage {\n"}},
			Hunt: doors("TestCarriedCallsThatBreakRules"),
		},
	}
}
