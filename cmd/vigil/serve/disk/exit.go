package disk

import (
	"errors"
	"fmt"

	"vigil/cluster"
	"vigil/cluster/record"
	"vigil/cmd/vigil/cli"
	"vigil/fsm"
)

// ServerError gives what ended a server, or a look at its data, its exit code and, where there is one, its remedy.
func ServerError(err error) error {
	var broken *cluster.BrokenInvariant
	switch {
	case err == nil:
		return nil
	case errors.As(err, &broken):
		return cli.ExitWith(cli.ExitUnknown, brokenInvariant(broken))
	case errors.Is(err, cluster.ErrOtherRefusals):
		return cli.ExitWith(cli.ExitUnknown, err)
	case errors.Is(err, fsm.ErrNewer):
		return cli.ExitWith(cli.ExitUnknown, fmt.Errorf("%w; the data was not touched", err))
	case errors.Is(err, record.ErrUnknown):
		return cli.ExitWith(cli.ExitUnknown, fmt.Errorf("%w: the log holds a record that this version does not know: "+
			"run the newer version that wrote it; the data was not touched", err))
	}
	return cli.ExitWith(cli.ExitFailed, err)
}

// brokenInvariant says where a server has ended that could not apply an entry, and what to do.
func brokenInvariant(b *cluster.BrokenInvariant) error {
	return fmt.Errorf("%w\nThis is a defect of vigil %s: "+
		"every server of the cluster ends at log entry %d (%s). "+
		"The data was not touched: keep copies of the data directories, report the text above, "+
		"and run a version in which it is mended. "+
		"Until there is one, stop all servers and have each pass over the entry, which refuses what is in it:\n"+
		"  vigil server skip-entry --data-dir DIR --index %[3]d --sum %[5]s", b, cli.Version(), b.Index, b.What, b.Sum)
}
