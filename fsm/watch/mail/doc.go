// Package mail is mail to agents: sending, handing over, reminding, forgetting.
//
//	QUEUED --ReadMail--> DELIVERED --ReadMail of a newer life, after a reminder--> DELIVERED
//	QUEUED, DELIVERED --AckMail--> ACKNOWLEDGED --retention--> gone
//	QUEUED, DELIVERED --expiry--> EXPIRED --retention--> gone
//
// Mail waits in the mailbox of an agent, not of a life: each life gets once what none has
// acknowledged. A reminder makes it unread again, an escalation calls a human; neither does
// anything to the agent, since silence about a mail is no sign of death.
package mail
