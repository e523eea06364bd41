package boxwords

// Things to do.
const (
	Start       = "start"        // Path, Args, Env, Log; answered with PID
	Signal      = "signal"       // PID, Signal
	KillAll     = "kill_all"     // every process of the machine but the box
	StopAll     = "stop_all"     // SIGSTOP to all of them
	ContinueAll = "continue_all" // undoes StopAll
	List        = "list"         // answered with Processes
)

// DiskMode is the first argument of program box when it serves a disk: see
// package disk.
const DiskMode = "disk"

// Ask is what the driver wants. N is repeated in the answer.
type Ask struct {
	N      int
	Do     string
	Path   string   `json:",omitempty"`
	Args   []string `json:",omitempty"` // without the program's name
	Env    []string `json:",omitempty"` // beside that of the box
	Log    string   `json:",omitempty"` // file that gets the output
	PID    int      `json:",omitempty"`
	Signal int      `json:",omitempty"`
}

// Word is an answer, or (N is 0) the news that a process has ended.
type Word struct {
	N         int
	Error     string    `json:",omitempty"`
	PID       int       `json:",omitempty"`
	Processes []Process `json:",omitempty"`

	Ended  int `json:",omitempty"` // process number
	Code   int `json:",omitempty"` // -1: ended by Signal
	Signal int `json:",omitempty"`
}

// Process is one process of a machine, with numbers as that machine sees them.
type Process struct {
	PID, Parent int
	State       string // as in /proc/PID/stat: R, S, T, ...
	Args        []string
}
