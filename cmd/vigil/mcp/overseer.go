package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// mcpOverseerTools are those that an agent that watches others has besides.
func mcpOverseerTools() []mcpTool {
	return []mcpTool{
		{name: "patrol_report", title: "Report a patrol", do: deed((*mcpDesk).patrolReport),
			about: "Say that you have been round, at the beginning of each round. An overseer that reports none for a " +
				"quarter of an hour is woken, then interrupted and restarted. The answer tells when to call begin_fresh_life.",
			params: []mcpParam{
				optional("cycle", wholeNumber(1, 1<<53),
					"The number of the round, as you count; the same one again changes "+
						"nothing. Left out: the next one."),
				optional("action", atMost(64), "What you do in this round, a name such as health-scan."),
				optional("healthy", wholeNumber(0, 1<<31-1), "How many agents are well."),
				optional("unhealthy", wholeNumber(0, 1<<31-1), "How many are not."),
			}},
		{name: "begin_fresh_life", title: "Begin a fresh life of yourself", hints: destroys,
			do: deed((*mcpDesk).beginFreshLife),
			about: "End this life of yours and have the next one started in its place, with an empty context and a summary " +
				"that it gets before any other mail. Both happen, or neither. You are stopped right after it, so finish what " +
				"you are doing first. (handoff_task is another thing: it gives work to another role.)",
			params: []mcpParam{
				required("subject", atMost(256), "In a few words."),
				optional("body", atMost(16<<10),
					"Everything the next life has to know: what you watch, what you have found, "+
						"what you have asked and still wait for. It knows nothing of your conversation."),
			}},
	}
}

type patrolReportArgs struct {
	Cycle     uint64 `json:"cycle"`
	Action    string `json:"action"`
	Healthy   uint32 `json:"healthy"`
	Unhealthy uint32 `json:"unhealthy"`
}

type patrolReportAnswer struct {
	mcpSaid
	Patrols uint32 `json:"patrols"` // of this life
	Cycle   uint64 `json:"cycle"`
	Due     bool   `json:"fresh_life_due"` // this life has made as many patrols as one should
}

// patrolReport says that the overseer has been round.
func (d *mcpDesk) patrolReport(ctx context.Context, _ *mcp.CallToolRequest,
	in patrolReportArgs) (patrolReportAnswer, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	if _, err := d.member(ctx); err != nil {
		return patrolReportAnswer{}, err
	}
	o, err := vigilv1.NewOverseersClient(d.conn).ReportPatrol(ctx,
		&vigilv1.ReportPatrolRequest{Speaker: d.life.Speaker(),
			Cycle: in.Cycle, Action: in.Action, Healthy: in.Healthy, Unhealthy: in.Unhealthy})
	if err != nil {
		return patrolReportAnswer{}, d.judge(ctx, nil, err)
	}
	said := saidf("Patrol %d of this life, cycle %d, is noted.", o.GetPatrols(), o.GetCycle())
	if o.GetHandoffDue() {
		said.Message += " You have made as many as one life should: finish what you are doing and call begin_fresh_life."
	}
	return patrolReportAnswer{said, o.GetPatrols(), o.GetCycle(), o.GetHandoffDue()}, nil
}

type freshLifeArgs struct {
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

type freshLifeAnswer struct {
	mcpSaid
	Mail uint64 `json:"mail"` // the one that the next life gets
}

// beginFreshLife makes room for the next life.
func (d *mcpDesk) beginFreshLife(ctx context.Context, _ *mcp.CallToolRequest,
	in freshLifeArgs) (freshLifeAnswer, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	if _, err := d.member(ctx); err != nil {
		return freshLifeAnswer{}, err
	}
	answer, err := vigilv1.NewOverseersClient(d.conn).HandOver(ctx,
		&vigilv1.HandOverRequest{Speaker: d.life.Speaker(), Subject: in.Subject, Body: in.Body})
	switch {
	case errors.Is(err, client.ErrStopped): // a human's word, not the end of a lease
		return freshLifeAnswer{}, mcpAdvicef("Nothing was changed: %s. Tell a human, and go on.",
			strings.TrimRight(err.Error(), "."))
	case err != nil:
		return freshLifeAnswer{}, d.judge(ctx, nil, err)
	}
	return freshLifeAnswer{saidf("Mail %d waits for your next life, which is being started. "+
		"STOP now: your place is taken, nothing that you say counts any more.",
		answer.GetMail()), answer.GetMail()}, nil
}
