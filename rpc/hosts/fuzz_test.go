package hosts

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form/formtest"
	"vigil/rpc/gen/vigilv1"
)

// builders turn the bytes of a request into a command, for every kind of write about a host, and of one.
func builders() []formtest.Builder {
	return []formtest.Builder{
		formtest.Decoded(registerHostCmd), formtest.Decoded(leaveHostCmd), formtest.Decoded(acceptOrderCmd),
		formtest.Decoded(reportStartedCmd), formtest.Decoded(reportExitCmd), formtest.Decoded(about(drainHostCmd)),
		formtest.Decoded(about(confirmDeadCmd)), formtest.Decoded(about(forgetHostCmd)),
		formtest.Decoded(reportStuckCmd), formtest.Decoded(reportPressureCmd), formtest.Decoded(reportScreenCmd),
		formtest.Decoded(reportTerminalsCmd), formtest.Decoded(noteNudgeCmd),
	}
}

// about makes a word about a host one about the first host.
func about[R any](build func(R, noun.HostID) (fsm.Command, error)) func(R) (fsm.Command, error) {
	return func(r R) (fsm.Command, error) { return build(r, 1) }
}

// FuzzHostWrites is FuzzWrites for what hosts report and people say about them.
func FuzzHostWrites(f *testing.F) {
	formtest.Seed(f, 0, &vigilv1.RegisterRequest{Key: "k", Boot: "b",
		Inventory: []*vigilv1.RunningAgent{{Agent: 1, Incarnation: 1}}})
	formtest.Seed(f, 5, &vigilv1.DrainHostRequest{Host: "h", Deadline: durationpb.New(1), For: durationpb.New(1 << 40)})
	formtest.Seed(f, 6, &vigilv1.ConfirmDeadRequest{Host: "h", Force: true})
	formtest.Writes(f, builders())
}
