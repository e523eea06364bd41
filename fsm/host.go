package fsm

// HostState is what the cluster believes of a worker machine.
type HostState uint8

// Host states. The numbers are written to disk.
const (
	HostReady   HostState = iota
	HostSuspect           // silent on its stream or in gossip: no new starts
	HostLost              // its lease has ended
	HostLeft              // said good-bye
)

var hostNames = [...]string{"ready", "suspect", "lost", "left"}

func (s HostState) String() string { return hostNames[s] }

// Host is a worker machine that runs agentd.
type Host struct {
	ID       HostID
	Key      string // stable id from the host's own file
	Name     string // for people
	Boot     string // boot id of the machine, changes at every boot
	State    HostState
	Runners  []string // sorted
	Labels   []KV
	Capacity uint32 // agents; 0: DefaultCapacity
	Version  string
	Until    Time // end of the host's lease
	Armed    Time
	SeenAt   Wall
	Rev      uint64
	Taken    uint64 // of the newest inventory of Boot; 0: unknown
}
