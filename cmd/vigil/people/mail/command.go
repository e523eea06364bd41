package mail

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// NewCommand is `vigil mail`: messages to agents.
func NewCommand(a *cli.App) *cobra.Command {
	group := cli.NewGroup("mail", "Mail to agents: send it, look at mailboxes; read and acknowledge it as an agent",
		newSendCmd(a), newReplyCmd(a), newInboxCmd(a), newSentCmd(a), newShowCmd(a),
		newReadCmd(a), newAckCmd(a))
	group.Long = `Mail waits in the mailbox of an agent, also while the agent is off. Each life of the agent
gets it once, until one of them acknowledges it. When nobody does, urgent mail is escalated
after 2 minutes, high mail is reminded of after 5 and escalated after 10, normal mail is
reminded of after 15 minutes, and low mail is recorded after an hour (settings mail_*).
Inside an agent the commands know who it is; everybody else is a sender without a mailbox.`
	return group
}

// parseID reads a mail's number.
func parseID(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n == 0 {
		return 0, cli.Usagef("%q is not a mail: give its number, see `vigil mail inbox`", text)
	}
	return n, nil
}
