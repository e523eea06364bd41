package disk

import (
	"fmt"
	"testing"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/cmd/vigil/cli"
	"vigil/fsm"
)

func TestServerExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{nil, 0}, {logstore.ErrDiskStuck, cli.ExitFailed}, {logstore.ErrInUse, cli.ExitFailed},
		{fmt.Errorf("run: %w", record.ErrUnknown), cli.ExitUnknown},
		{fmt.Errorf("open server a: %w", fsm.ErrNewer), cli.ExitUnknown},
		{fmt.Errorf("run: %w", &cluster.BrokenInvariant{Index: 7}), cli.ExitUnknown},
		{fmt.Errorf("run: %w", cluster.ErrOtherRefusals), cli.ExitUnknown},
	} {
		if got := cli.ExitCode(ServerError(tt.err)); got != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.err, got, tt.code)
		}
	}
}
