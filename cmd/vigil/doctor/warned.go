package doctor

import (
	"strings"

	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// heeded are the warnings of a status that no other finding has.
var heeded = []struct {
	has    string // words of it
	begin  int    // so many words at its start say what it is about; 0: all
	mend   bool
	remedy string
}{
	{has: form.Unannounced,
		remedy: "give every server the same notify:, with what it needs there; vigil server --check tells what is missing"},
	{has: form.BackupsFail, begin: 5, mend: true,
		remedy: "correct what is said, or backup: in the file of that server; there vigil server --check tells what it " +
			"lacks, and its log the rest"},
	{has: form.Behind, begin: 2,
		remedy: "wait until it has caught up, and stop no other server before that"},
	{has: form.Forlorn, begin: 2,
		remedy: "name all servers under servers in the configuration of its agentd"},
}

// warned is a warning of a server as a finding.
type warned struct {
	mend         bool
	text, remedy string
}

// heed takes of what a server warns what no other finding has. Several may say it, each with figures of its own.
func (c *Cluster) heed(st *vigilv1.StatusResponse) {
	if c.Warned == nil {
		c.Warned = map[string]warned{}
	}
	for _, text := range st.GetWarnings() {
		for _, h := range heeded {
			if !strings.Contains(text, h.has) {
				continue
			}
			about := text
			if words := strings.Fields(text); h.begin > 0 && len(words) > h.begin {
				about = strings.Join(words[:h.begin], " ")
			}
			c.Warned[about] = warned{h.mend, text, h.remedy}
		}
	}
}
