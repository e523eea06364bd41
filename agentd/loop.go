package agentd

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/accounts"
	"vigil/agentd/disk"
	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/agentd/telemetry"
	"vigil/rpc/gen/vigilv1"
)

// longestNap bounds how late the keeper notices what the clock says: its timers
// stand still while the machine is suspended, the clock does not.
const longestNap = 250 * time.Millisecond

// site is which host this is, and what its parts work with. Only offers changes while the daemon
// runs. It is safe for concurrent use.
type site struct {
	config   *Config
	log      hclog.Logger
	key      string
	boot     string
	mark     string // of the processes of this host: key and place
	data     *disk.Dir
	journal  disk.Journal
	accounts *accounts.Register
	offers   *offers
	logs     *output.Dir
	launcher launcher
	scans    *proc.Scanner
	host     vigilv1.HostAgentClient
	work     vigilv1.WorkClient
	metrics  *metrics
	callers  *callers
	// telemetry takes what the tools of agents tell of themselves.
	telemetry *telemetry.Receiver
	// forward passes a message on to the collector of this host; nil: there is none.
	forward func(path, contentType string, body []byte)
}

// loop is the way into the keeper's goroutine, which alone touches the parts.
type loop struct {
	inbox chan func()
	done  chan struct{}  // closed when the keeper has returned
	tasks sync.WaitGroup // goroutines of the parts
	// ctx ends after the last life is gone and reported.
	ctx context.Context
}

// send has the keeper run f. It is dropped when the keeper is gone.
func (l *loop) send(f func()) {
	select {
	case l.inbox <- f:
	case <-l.done:
	}
}

// spawn runs f in a goroutine that Run waits for; f must end when ctx does.
func (l *loop) spawn(f func()) { l.tasks.Go(f) }

// base is what every part of the keeper works with.
type base struct {
	*site
	*loop
}

// part is one of the keeper's subjects. It belongs to the keeper's goroutine.
type part interface {
	// look does what the clock asks for and says when to look again.
	look(now time.Duration) time.Duration
}
