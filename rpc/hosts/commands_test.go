package hosts

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// What is wrong with a word about a host, or of a host, is said with its place and the remedy.
func TestValidationNamesPlaceAndRemedy(t *testing.T) {
	cmd := func(_ fsm.Command, err error) error { return err }
	second := durationpb.New(time.Second)
	for _, tt := range []struct {
		name string
		err  error
		code string
		says []string
	}{
		{"boot missing", cmd(registerHostCmd(&vigilv1.RegisterRequest{Key: "k"})),
			"invalid", []string{"boot is missing"}},
		{"short hash", cmd(acceptOrderCmd(&vigilv1.AcceptOrderRequest{Host: 1, Boot: "b", Agent: 1,
			Incarnation: 1, TokenHash: []byte("x")})), "invalid", []string{"32 bytes"}},
		{"drain without a host", cmd(drainHostCmd(&vigilv1.DrainHostRequest{}, 0)), "invalid",
			[]string{"host is missing", "vigil host list"}},
		{"drain until the past",
			cmd(drainHostCmd(&vigilv1.DrainHostRequest{Host: "h", Deadline: durationpb.New(-time.Second)},
				1)), "invalid", []string{"deadline", "-1s"}},
		{"undrain with a deadline",
			cmd(drainHostCmd(&vigilv1.DrainHostRequest{Host: "h", Off: true,
				Deadline: durationpb.New(time.Second)}, 1)), "invalid", []string{"off"}},
		{"dead host without a name", cmd(confirmDeadCmd(&vigilv1.ConfirmDeadRequest{}, 0)), "invalid",
			[]string{"host is missing"}},
		{"forgotten host without a name", cmd(forgetHostCmd(&vigilv1.ForgetHostRequest{}, 0)), "invalid",
			[]string{"host is missing"}},
		{"stuck without a life", cmd(reportStuckCmd(&vigilv1.ReportStuckRequest{Host: 1})), "invalid",
			[]string{"incarnation"}},
		{"screen of no life", cmd(reportScreenCmd(&vigilv1.ReportScreenRequest{Host: 1, Prompt: "none"})),
			"invalid", []string{"incarnation"}},
		{"screen of no kind",
			cmd(reportScreenCmd(&vigilv1.ReportScreenRequest{Host: 1, Agent: 1, Incarnation: 1,
				Prompt: "odd"})), "invalid", []string{"permission"}},
		{"terminals without a boot", cmd(reportTerminalsCmd(&vigilv1.ReportTerminalsRequest{Host: 1})),
			"invalid", []string{"boot is missing"}},
		{"pressure without a boot", cmd(reportPressureCmd(&vigilv1.ReportPressureRequest{Host: 1})),
			"invalid", []string{"boot is missing"}},
		{"for: no duration",
			cmd(drainHostCmd(&vigilv1.DrainHostRequest{Host: "h", For: &durationpb.Duration{Seconds: 5, Nanos: -1}}, 1)),
			"invalid", []string{"1s to 365 days"}},
		{"for: too long",
			cmd(drainHostCmd(&vigilv1.DrainHostRequest{Host: "h", For: durationpb.New(366 * 24 * time.Hour)}, 1)),
			"invalid", []string{"1s to 365 days"}},
		{"for: an undrain",
			cmd(drainHostCmd(&vigilv1.DrainHostRequest{Host: "h", Off: true, For: second}, 1)), "invalid",
			[]string{"a drain that ends is over at once"}},
		{"for: a deadline after the end",
			cmd(drainHostCmd(&vigilv1.DrainHostRequest{Host: "h", For: second, Deadline: second}, 1)), "invalid",
			[]string{"deadline must come before"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fault.Of(tt.err)
			if p.Code != tt.code {
				t.Fatalf("code %s (%s), want %s", p.Code, p.Text, tt.code)
			}
			for _, s := range tt.says {
				if !strings.Contains(p.Text, s) {
					t.Errorf("message %q does not say %q", p.Text, s)
				}
			}
		})
	}
}

func TestExitReportsNameTheirKind(t *testing.T) {
	for _, tc := range []struct {
		r    *vigilv1.ReportExitRequest
		kind noun.ExitKind
	}{
		{&vigilv1.ReportExitRequest{}, noun.ExitNone},
		{&vigilv1.ReportExitRequest{StartFailed: true}, noun.ExitStartFailed},
		{&vigilv1.ReportExitRequest{Ordered: true}, noun.ExitOrdered},
		{&vigilv1.ReportExitRequest{StartFailed: true, Ordered: true}, noun.ExitOrdered},
		{&vigilv1.ReportExitRequest{TimedOut: true}, noun.ExitTimedOut},
		{&vigilv1.ReportExitRequest{UsageLimit: true, RetryAfter: durationpb.New(time.Hour)}, noun.ExitUsageLimit},
		// a report is never lost for saying too much
		{&vigilv1.ReportExitRequest{Ordered: true, UsageLimit: true}, noun.ExitOrdered},
	} {
		tc.r.Host, tc.r.Agent, tc.r.Incarnation = 1, 1, 1
		cmd, err := reportExitCmd(tc.r)
		if err != nil {
			t.Fatal(err)
		}
		if x := cmd.(fsm.ReportExit); x.Kind != tc.kind || x.RetryAfter != tc.r.GetRetryAfter().AsDuration() {
			t.Errorf("%v became %+v, want %s", tc.r, x, tc.kind)
		}
	}
}

// The order of a start carries what its role sets for the life.
func TestOrdersCarryTheRunLimit(t *testing.T) {
	st := fsm.New()
	st.Apply(&fsm.Entry{Index: 1, Term: 1, Stint: 1, Requests: []fsm.Request{
		{Cmd: fsm.LeaderEstablished{Server: "s1", APIAddr: "a:1"}},
		{Cmd: fsm.ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "builder", Runner: "sh", Replicas: 1,
			RunLimit: 24 * time.Hour}}}}}})
	agent := *st.AgentByName("demo/builder")
	agent.Order, agent.Proc = noun.StartOrder, noun.ProcOrdered
	if o := convertOrder(&st.View, &agent); o.GetRunLimit().AsDuration() != 24*time.Hour {
		t.Errorf("order %v lacks the run limit", o)
	}
}
