package doctor

// Finding is one thing that is wrong, or that somebody should know.
type Finding struct {
	// About is what it is of: clock, disk, dir, limits, certificate, config, network, versions, cluster, hosts.
	About string `json:"about"`
	// Mend says that it must be mended; otherwise the fleet works, and somebody should know.
	Mend   bool   `json:"mend"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// list gathers findings.
type list []Finding

func (l *list) mend(about, what, remedy string) { *l = append(*l, Finding{about, true, what, remedy}) }
func (l *list) note(about, what, remedy string) { *l = append(*l, Finding{about, false, what, remedy}) }
