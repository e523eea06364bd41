package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
)

// mcpTool is one tool. To add one: a row in the table, a type for its arguments with the JSON
// names of its parameters, a type for its answer that embeds mcpSaid, and the function that does
// it. What the table says is in the context of every agent all the time: keep it short.
type mcpTool struct {
	name, title string
	about       string // for a language model: when to call it, and what comes then
	hints       mcpHint
	params      []mcpParam
	do          mcpDeed
}

// mcpHint is what a client may rely on, a sum of the constants.
type mcpHint uint8

const (
	// reads: it changes nothing.
	reads mcpHint = 1 << iota
	// repeats: saying it twice is saying it once. The last words about a task do not: said once
	// more, after the next claim, they would be about another task.
	repeats
	// destroys: it ends or replaces something for good.
	destroys
	// long: its answer may hold the text of a task, or mails.
	long
)

// sizeKey and maxSize tell Claude Code not to withhold a long answer, which it does above 25,000 tokens by itself: the
// model would hold a task that it never saw. They are in nobody's context.
const (
	sizeKey = "anthropic/maxResultSizeChars"
	maxSize = 500_000 // the most that Claude Code takes
)

// mcpTools are the tools of every agent, in the order in which a model needs them; clients get
// them by name. Overseers have mcpOverseerTools too.
func mcpTools() []mcpTool {
	return slices.Concat(mcpTaskTools(), mcpStateTools(), mcpMailTools())
}

// forOneTask makes of the tools those of a session that was begun for one task: none of them takes another, and none
// speaks of the tool that would.
func forOneTask(tools []mcpTool) []mcpTool {
	words := strings.NewReplacer(" Then call wait_for_task.", " Then stop.", "; then call wait_for_task.", "; then stop.",
		" within two minutes after wait_for_task,", " within two minutes after it was claimed,",
		" wait_for_task also ends when mail comes.", "")
	tools = slices.DeleteFunc(tools, func(t mcpTool) bool { return t.name == "wait_for_task" })
	for i := range tools {
		t := &tools[i]
		t.about = words.Replace(t.about)
		t.params = slices.DeleteFunc(t.params, func(p mcpParam) bool { return p.name == "next" })
		for _, p := range t.params {
			p.schema.Description = words.Replace(p.schema.Description)
		}
	}
	return tools
}

func mcpTaskTools() []mcpTool {
	return []mcpTool{
		{name: "wait_for_task", title: "Wait for a task", hints: repeats | long, do: deed((*mcpDesk).waitForTask),
			about: "Wait until there is a task for your role and take it. Returns the task, or that nothing " +
				"came yet: then call it again, and go on doing so. If you hold a task already, you get that one again.",
			params: []mcpParam{
				optional("seconds", wholeNumber(1, MaxWait.Seconds()),
					"How long to wait. Leave it out unless calls time out."),
				optional("start", yesNo(), "Also say that work has begun, as start_task does."),
			}},
		{name: "start_task", title: "Start the task", hints: repeats, do: deed((*mcpDesk).startTask),
			about: "Say that you have begun to work on the task that you hold. Do it within two minutes after " +
				"wait_for_task, otherwise the task is given to somebody else."},
		{name: "progress", title: "Report progress", do: deed((*mcpDesk).progressTask),
			about: "Say that work on your task goes on, with a short note for people. Call it after each step and " +
				"at least every few minutes: a task without progress for too long is taken away.",
			params: []mcpParam{
				required("note", atMost(4<<10), "What is done and what comes next, in a sentence or two."),
				optional("percent", wholeNumber(0, 100), "How much of the work is done."),
				optional("expect_minutes", positive(30*24*60), "How long the rest takes from now. Give it when "+
					"that has changed, and when you are asked about your task."),
			}},
		{name: "complete_task", title: "Complete the task", hints: long, do: deed((*mcpDesk).completeTask),
			about: "Finish the task that you hold. Call it once, when the work is done; then call wait_for_task.",
			params: []mcpParam{required("result", atMost(cli.MaxTaskText),
				"The answer itself, or where the work is to be found (branch, file). At most 256 KiB."), thisTask(), andNext()}},
		{name: "handoff_task", title: "Complete the task and pass it on", hints: long, do: deed((*mcpDesk).handoffTask),
			about: "Instead of complete_task: finish the task that you hold and create a task for another role of " +
				"your room, in one step: either both happen or neither. Then call wait_for_task.",
			params: []mcpParam{
				required("role", atMost(200),
					"Who gets the next task, for instance reviewer. colleagues lists the roles."),
				required("title", atMost(200), "What the next task is, in a few words."),
				optional("text", atMost(cli.MaxTaskText),
					"Everything the next agent has to know. It knows nothing of your "+
						"conversation."),
				optional("result", atMost(cli.MaxTaskText), "The result of your own task."),
				optional("priority", wholeNumber(-1<<31, 1<<31-1), "Of the next task; higher comes first, 0 is usual."),
				thisTask(), andNext(),
			}},
		{name: "fail_task", title: "Give the task up", hints: destroys | long, do: deed((*mcpDesk).failTask),
			about: "Give up the task that you hold because it cannot be done. Then call wait_for_task.",
			params: []mcpParam{
				required("reason", atMost(4<<10), "Why it cannot be done, for the people who look into it."),
				optional("retryable", yesNo(), "Another attempt may succeed, for instance because something was "+
					"down. The task then goes back to its role, after a while."),
				thisTask(), andNext(),
			}},
	}
}

// thisTask is the parameter that keeps a last word from being taken for one about another task.
func thisTask() mcpParam {
	return optional("task", wholeNumber(1, 1<<53), "The number of the task that you mean, so that a call that is "+
		"made twice cannot end the next task.")
}

// andNext is the parameter of what ends a task.
func andNext() mcpParam {
	return optional("next", yesNo(), "Get your own next task in this answer when there is one, "+
		"so that you need not call wait_for_task for it.")
}

// mcpStateTools are about the agent itself and those beside it.
func mcpStateTools() []mcpTool {
	return []mcpTool{
		{name: "declare", title: "Say how you are", do: deed((*mcpDesk).declare),
			about: "Say how you are, and beforehand why nothing will be heard of you for a while, so that nobody takes " +
				"you for hung. in_tool: a long call of a tool; busy: long work; needs_input: a human must answer; sleeping: " +
				"waiting for a time, such as the end of a usage limit; degraded: you go on, with difficulties; healthy: " +
				"all is well. Each replaces what you declared before, so healthy ends it early; it lapses at its end.",
			params: []mcpParam{
				required("state", oneOf(declarable()...), "How you are."),
				optional("for_minutes", positive(7*24*60), "How long it may last, for "+
					strings.Join(withEnd(), ", ")+". Left "+
					"out: 30 for in_tool and sleeping, a day for needs_input; busy then excuses no silence."),
				optional("until", atMost(40),
					"Its end instead: a time such as 15:00 on this machine's clock, or an RFC 3339 "+
						"time."),
				optional("why", atMost(1<<10), "For people, for instance the question that a human must answer."),
			}},
		{name: "remember", title: "Keep a value for your next life", hints: repeats | destroys,
			do: deed((*mcpDesk).remember),
			about: "Keep one short value, usually the id of your conversation, for the life that follows when this one " +
				"crashes or is restarted. It replaces the one before; an empty value forgets it.",
			params: []mcpParam{required("value", atMost(agent.MaxResume), "The value.")}},
		{name: "my_status", title: "See where you stand", hints: reads | long, do: deed((*mcpDesk).myStatus),
			about: "Tell who you are, which task you hold (with its text, if you have forgotten it), and what the " +
				"fleet thinks of you."},
		{name: "colleagues", title: "See the other agents", hints: reads, do: deed((*mcpDesk).colleagues),
			about: "List the agents of your room, with their roles, what they work on and whether they are well.",
			params: []mcpParam{
				optional("role", atMost(200), "Only those of this role."),
				optional("after", atMost(400),
					"Go on after this agent, when there were more than fit into one answer."),
			}},
	}
}

func mcpMailTools() []mcpTool {
	return []mcpTool{
		{name: "send_mail", title: "Send mail", do: deed((*mcpDesk).sendMail),
			about: "Write to another agent, to all agents of a role, or to the rest of your room: questions, answers and " +
				"warnings. Work that somebody shall do is a task: handoff_task.",
			params: []mcpParam{
				optional("to", atMost(400),
					"room/role.2 for one agent (room/role.1 is the first), room/role for each agent "+
						"of the role, room for each other agent of the room; colleagues shows the names. Not needed with reply_to."),
				optional("subject", atMost(256), "In a few words. Subject or body is needed."),
				optional("body", atMost(16<<10), "At most 16 KiB; name a file for more."),
				optional("priority", oneOf("urgent", "high", "normal", "low"),
					"How soon it has to be acknowledged: urgent in "+
						"2 minutes, high in 5 (both are escalated when nothing happens), normal (usual) in 15, low whenever."),
				optional("kind", atMost(64), "A word for programs, for instance status-inquiry."),
				optional("reply_to", wholeNumber(1, 1<<53),
					"The number of the mail that this one answers; it goes to who sent "+
						"that."),
				optional("only_if_running", yesNo(),
					"Refuse it when the agent is off, instead of keeping it for its next life."),
			}},
		{name: "read_mail", title: "Read mail", hints: long, do: deed((*mcpDesk).readMail),
			about: fmt.Sprintf("Take your unread mail, the most urgent first, at most %d at once. What you have read "+
				"stays open until you call ack_mail.", maxMailAtOnce),
			params: []mcpParam{
				optional("seconds", wholeNumber(1, MaxWait.Seconds()), "Wait so long for mail when there is none. "+
					"wait_for_task also ends when mail comes."),
				optional("mail", wholeNumber(1, 1<<53), "Show this one again, by its number; it marks nothing."),
			}},
		{name: "ack_mail", title: "Acknowledge mail", hints: repeats, do: deed((*mcpDesk).ackMail),
			about: "Say that you have dealt with mails. Until you do you are reminded of them, and your next life gets " +
				"them again.",
			params: []mcpParam{required("mails", numbers(100), "Their numbers.")}},
		{name: "inbox", title: "List open mail", hints: reads | long, do: deed((*mcpDesk).inbox),
			about: "List your mails that you have not acknowledged, read or not, without their bodies."},
	}
}

// add offers the tool to the clients of a server. It has no schema of its answers: that would
// double what every model has in its context (docs/decisions/cmd.md#mcp-tools-have-no-schema-of-their-answers).
func (t *mcpTool) add(s *mcp.Server, d *mcpDesk) {
	destroys, open := t.hints&destroys != 0, false
	var meta mcp.Meta
	if t.hints&long != 0 {
		meta = mcp.Meta{sizeKey: maxSize}
	}
	t.do(s, d, &mcp.Tool{Name: t.name, Title: t.title, Description: t.about, InputSchema: t.schema(), Meta: meta,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.hints&reads != 0,
			IdempotentHint:  t.hints&(reads|repeats) != 0,
			DestructiveHint: &destroys, OpenWorldHint: &open}})
}

// mcpDeed registers what a tool does.
type mcpDeed func(*mcp.Server, *mcpDesk, *mcp.Tool)

// mcpAnswer is an answer of a tool: a value for programs that can also be said.
type mcpAnswer[T any] interface {
	*T
	words() string
	begin(notice string)
}

// deed wraps what a tool does: errors say what to do next, and an answer begins with
// what has happened behind the model's back.
func deed[In, Out any, P mcpAnswer[Out]](
	do func(*mcpDesk, context.Context, *mcp.CallToolRequest, In) (Out, error),
) mcpDeed {
	return func(s *mcp.Server, d *mcpDesk, tool *mcp.Tool) {
		mcp.AddTool(s, tool, func(ctx context.Context, call *mcp.CallToolRequest, in In) (*mcp.CallToolResult,
			any, error) {
			out, err := do(d, ctx, call, in)
			if err != nil {
				return nil, nil, err
			}
			P(&out).begin(d.news(ctx))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: P(&out).words()}}}, &out, nil
		})
	}
}

// mcpSaid is what every answer says: what has happened and what to do next.
type mcpSaid struct {
	Message string `json:"message"`
}

func (s *mcpSaid) words() string { return s.Message }

func (s *mcpSaid) begin(notice string) {
	if notice != "" {
		s.Message = notice + " " + s.Message
	}
}

// saidf makes an answer that is nothing but words.
func saidf(format string, args ...any) mcpSaid { return mcpSaid{fmt.Sprintf(format, args...)} }
