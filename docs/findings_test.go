package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// finding is something that was open before there were identities, and the tests that fail when it is open
// again, each as FILE TEST.
type finding struct {
	id, what string
	tests    []string
	none     string // why there is no test
}

// findings are cited by their ids in the change log and in the names of tests: S in servers and programs for
// people, A in agentd and shim.
var findings = []finding{
	{id: "S1", what: "nobody was authenticated or authorized", tests: []string{
		"rpc/door/rights_test.go TestEveryCallIsAllowedOrDenied", "rpc/code/permits_test.go TestEveryMethodHasAPermit",
		"rpc/identity_test.go TestIdentitiesEndToEnd", "cmd/vigil/e2e_trust_test.go TestTrustFromTheFirstMinute",
		"cmd/vigil/server_open_test.go TestS01NothingRunsWithoutIdentityBeyondLoopback"}},
	{id: "S2", what: "the port of the log took anyone who knew the id of the cluster", tests: []string{
		"cluster/wire/identity_test.go TestStrangersReachNobody", "cluster/wire/identity_test.go TestServersProveWhoTheyAre",
		"cluster/strangers_test.go TestForgedTermsReachNoServer", "cluster/secure_test.go TestRevokedServerIsCutOff"}},
	{id: "S3", what: "what identified a host was public", tests: []string{
		"rpc/identity_test.go TestS3HostsTakeTheirOwnOrdersOnly",
		"rpc/fleethosts_test.go TestS03WhatHostsIdentifyThemselvesWithIsNotPublic"}},
	{id: "S4", what: "agents ran as root, and one account owned everything", tests: []string{
		"agentd/runner/runner_test.go TestS04AgentsRunAsRootOnlyWhenThatIsSaid",
		"agentd/local/peer_linux_test.go TestOtherAccountsAreRefused"}},
	{id: "S5", what: "the shipped list of allowed commands ran any command", tests: []string{
		"cmd/vigil/allowed_test.go TestS05ShippedFilesAllowExactVerbs",
		"cmd/vigil/agent/triage_exec_test.go TestS05TriageNeedsNoCommand"}},
	{id: "S6", what: "a web page of others could write",
		tests: []string{"rpc/pages_test.go TestS06WebPagesOfOthersDoNothing"}},
	{id: "S7", what: "small requests filled the cluster for good", tests: []string{
		"fsm/laws_full_test.go TestS07RoomsHostsSessionsTasksAndAgentsAreBounded",
		"fsm/laws_full_test.go TestS07SlotsOfAgentsCostWhatTheyTake"}},
	{id: "S8", what: "an agent with a terminal used up the memory of its host", tests: []string{
		"agentd/tmux/flood_test.go TestS08EndlessScreenIsRefused",
		"agentd/tmux/flood_test.go TestS08FloodOfTheStatusIsNotKept"}},
	{id: "S9", what: "an agent got the terminal of whoever attached", tests: []string{
		"cmd/vigil/people/terminal/between_test.go TestS09AttachKeepsTheTerminal",
		"cmd/vigil/term/drawing_test.go TestS09OnlyDrawingReachesTheTerminal"}},
	{id: "S10", what: "anyone reported what servers report of themselves", tests: []string{
		"rpc/door/rights_test.go TestEveryCallIsAllowedOrDenied", "rpc/door/guard_test.go TestForgedHeadersAreNotBelieved",
		"rpc/trust/trust_test.go TestStrangersAreTurnedAway"}},
	{id: "S11", what: "mail was neither private nor authentic, and texts could pass for words of vigil", tests: []string{
		"rpc/door/rights_test.go TestEveryCallIsAllowedOrDenied", "rpc/door/guard_test.go TestIdentitiesSignWrites",
		"cmd/vigil/mcp_tools_test.go TestN17TextOfOthersIsMarked"}},
	{id: "S12", what: "suggested commands and errors held what others wrote", tests: []string{
		"rpc/hostname_test.go TestS12HostNamesHoldNothingThatAShellReads",
		"cmd/vigil/conf/agentd_test.go TestS12AgentdRefusesAHostNameThatAShellWouldRead",
		"cmd/vigil/people/safe_test.go TestS12ErrorsAndCommandsReachTheTerminalFiltered"}},
	{id: "S13", what: "nothing bounded connections, messages and bodies", tests: []string{
		"rpc/door/limits_test.go TestS13ConnectionsAreCounted",
		"rpc/door/limits_test.go TestS13ConnectionsAreCountedBySource",
		"rpc/door/limits_test.go TestS13BodiesThatDoNotComeAreNotWaitedFor", "rpc/limits_test.go TestS13HeadersAreBounded",
		"rpc/limits_test.go TestS13RequestsAreBoundedByTheirCall", "rpc/limits_test.go TestS13WatchesAndBackupsAreCounted",
		"rpc/limits_test.go TestS13WaitChecksTheTokenBeforeItParks", "rpc/door/handshake_test.go TestHandshakesAreBounded",
		"rpc/door/shares_test.go TestWholeShareIsRefusedAtTheDoor"}},
	{id: "S14", what: "all hosts had one key of gossip for ever", tests: []string{
		"cmd/vigil/e2e_gossip_test.go TestGossipKeysComeByThemselves"}},
	{id: "S15", what: "escapes in logs and nudges, folders and secrets of others, profiles for all, " +
		"by that anybody could write",
		tests: []string{"cmd/vigil/people/agents/logs_test.go TestS15LogsOfAgentsDoNotSteerTheTerminal",
			"rpc/hosts/nudge_test.go TestS15NudgesTypeTextOnly",
			"cmd/vigil/life/kept_test.go TestS15TheFolderOfLivesIsTheUsersOwn",
			"cluster/notify/secret_test.go TestS15SecretsThatOthersReadAreRefused",
			"cmd/vigil/serve/server_debug_test.go TestS15ProfilesAreOnAPrivateSocket",
			"rpc/audit_test.go TestAuditSaysWhoHasChangedWhat"}},
	{id: "A1", what: "text of an agent made its end disappear", tests: []string{
		"agentd/shim/usage_test.go TestA01TextOfAnAgentParksForADayAtMost",
		"agentd/letters_test.go TestA01RefusedUsageLimitIsCharged",
		"rpc/hosts/facts_test.go TestA01FactsAreNotRefusedForTheirWords"}},
	{id: "A2", what: "marks were blind in a container", tests: []string{
		"agentd/proc/probe_linux_test.go TestA02ProbeFindsStopsAndKills",
		"agentd/proc/probe_linux_test.go TestA02BlindRootIsWeak",
		"agentd/containment_test.go TestA02RegistrationNamesTheContainment"}},
	{id: "A3", what: "the mark of processes was the API's to set", tests: []string{
		"agentd/proc/environ_linux_test.go TestA03MarkIsNobodysToSet"}},
	{id: "A4", what: "a process that waits for a disk made a freeze a kill", tests: []string{
		"agentd/proc/disk_test.go TestA04AThreadThatWaitsForADiskIsNoReasonToKill"}},
	{id: "A5", what: "one wedged process held up agentd", tests: []string{
		"agentd/proc/environ_linux_test.go TestA05ProcessThatHangsHoldsNobodyUp"}},
	{id: "A6", what: "sleep of the machine counted as work", tests: []string{
		"agentd/shim/laws_test.go TestA06RunLimitStandsStillWhileTheMachineSleeps"}},
	{id: "A7", what: "disks filled up, and a full one lost an end", tests: []string{
		"agentd/disk_test.go TestA07DiskPressure", "agentd/disk_test.go TestA07LeftoversOfDeletedAgents",
		"agentd/shim/disk_test.go TestA07FullDiskKeepsTheRecord"}},
	{id: "A8", what: "what a server refused was thrown away", tests: []string{
		"agentd/letters_test.go TestA08RefusedExitReports", "agentd/letters_test.go TestA08RefusedResultsAreKept"}},
	{id: "A9", what: "a machine that went down lost its agents", tests: []string{
		"cmd/vigil/agentd_test.go TestA09AgentdUnit", "agentd/stop_test.go TestA09AgentsEndBeforeTheMachineGoesDown"}},
	{id: "A10", what: "small things of the process tree, output, versions and thaws", tests: []string{
		"agentd/proc/init_linux_test.go TestA10FirstProcessReaps",
		"agentd/proc/environ_linux_test.go TestA10NestedTreesCarryBothMarks",
		"agentd/proc/pace_test.go TestA10OutputIsPaced", "agentd/shim/version_test.go TestA10ShimRefusesAnotherVersion",
		"agentd/proc/rest_test.go TestA10ThawLeavesAloneWhatTheAgentHadStopped"}},
	{id: "A11", what: "other systems than Linux are not fit for hosts", none: "tests run on Linux only"},
}

// Each finding has tests, and these are there: one that was renamed or removed is missed.
func TestFindingsHaveTests(t *testing.T) {
	files := map[string]map[string]bool{}
	for _, f := range findings {
		if (len(f.tests) == 0) == (f.none == "") {
			t.Errorf("%s: %s: it has either tests or a reason why there is none", f.id, f.what)
		}
		for _, one := range f.tests {
			file, name, _ := strings.Cut(one, " ")
			if files[file] == nil {
				files[file] = testsOf(t, file)
			}
			if !files[file][name] {
				t.Errorf("%s: %s: %s has no %s", f.id, f.what, file, name)
			}
		}
	}
	for i, f := range findings {
		want := fmt.Sprint("S", i+1)
		if i >= 15 {
			want = fmt.Sprint("A", i-14)
		}
		if f.id != want {
			t.Errorf("finding %d is %s, want %s", i, f.id, want)
		}
	}
	if len(findings) != 15+11 {
		t.Errorf("the table has %d findings", len(findings))
	}
}

// testsOf gives the tests in a file.
func testsOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, d := range parsed.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests[f.Name.Name] = true
		}
	}
	return tests
}
