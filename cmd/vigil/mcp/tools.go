package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
)

// mcpTool is one tool. To add one: a row in mcpWorkTools, a type for its arguments with the
// JSON names of its parameters, a type for its answer that embeds mcpSaid, and the
// function that does it.
type mcpTool struct {
	name, title string
	about       string // for a language model: when to call it, and what comes then
	reads       bool   // changes nothing
	params      []mcpParam
	do          mcpDeed
}

// mcpTools is the table of tools, in the order in which a model needs them; clients get
// them by name.
func mcpTools() []mcpTool { return slices.Concat(mcpWorkTools(), mcpMailTools(), mcpOverseerTools()) }

func mcpWorkTools() []mcpTool {
	return []mcpTool{
		{"wait_for_task", "Wait for a task",
			"Wait until there is a task for your role and take it. Returns the task, or that nothing came yet: then call it again, and go on doing so. If you hold a task already, you get that one again.",
			false, []mcpParam{
				optional("seconds", wholeNumber(1, MaxWait.Seconds()), "How long to wait, in seconds. Leave it out unless calls time out."),
				optional("start", yesNo(), "Also say that work has begun, as start_task does."),
			}, deed((*mcpDesk).waitForTask)},
		{"start_task", "Start the task",
			"Say that you have begun to work on the task that you hold. Do it within two minutes after wait_for_task, otherwise the task is given to somebody else.",
			false, nil, deed((*mcpDesk).startTask)},
		{"progress", "Report progress",
			"Say that work on your task goes on, with a short note for people. Call it after each step and at least every few minutes: a task without progress for too long is taken away.",
			false, []mcpParam{
				required("note", atMost(4<<10), "What is done and what comes next, in a sentence or two."),
				optional("percent", wholeNumber(0, 100), "How much of the work is done."),
				optional("expect_minutes", positive(30*24*60), "How long the rest takes from now, in minutes. Give it when that has changed, and when you are asked about your task."),
			}, deed((*mcpDesk).progressTask)},
		{"complete_task", "Complete the task",
			"Finish the task that you hold. Call it once, when the work is done; then call wait_for_task.",
			false, []mcpParam{required("result", atMost(cli.MaxTaskText), "The result: the answer itself, or where the work is to be found (branch, file). At most 256 KiB.")}, deed((*mcpDesk).completeTask)},
		{"handoff_task", "Complete the task and pass it on",
			"Finish the task that you hold and create a task for another role of your room, in one step: either both happen or neither. Then call wait_for_task.",
			false, []mcpParam{
				required("role", atMost(200), "The role that gets the next task, for instance reviewer. colleagues lists the roles of your room."),
				required("title", atMost(200), "What the next task is, in a few words."),
				optional("text", atMost(cli.MaxTaskText), "Everything the next agent has to know. It knows nothing of your conversation."),
				optional("result", atMost(cli.MaxTaskText), "The result of your own task."),
				optional("priority", wholeNumber(-1<<31, 1<<31-1), "Of the next task; higher comes first, 0 is usual."),
			}, deed((*mcpDesk).handoffTask)},
		{"fail_task", "Give the task up",
			"Give up the task that you hold because it cannot be done. Then call wait_for_task.",
			false, []mcpParam{
				required("reason", atMost(4<<10), "Why it cannot be done, for the people who look into it."),
				optional("retryable", yesNo(), "Another attempt may succeed, for instance because something was down. The task then goes back to its role."),
			}, deed((*mcpDesk).failTask)},
		{"declare", "Explain a silence",
			"Say beforehand why nothing will be heard of you for a while, so that nobody takes you for hung: in_tool (a long call of a tool), busy (long work), needs_input (a human must answer), parked (waiting for a time, such as the end of a usage limit). It lapses by itself at its end; report_health with healthy ends it earlier.",
			false, []mcpParam{
				required("state", oneOf("in_tool", "busy", "needs_input", "parked"), "What you are about to do or wait for."),
				optional("for_minutes", positive(7*24*60), "How long it may last, in minutes. Left out: 30 for in_tool and parked, a day for needs_input; busy has no end then and excuses no silence."),
				optional("until", atMost(40), "When it ends instead: a time such as 15:00 on this machine's clock, or an RFC 3339 time. Not together with for_minutes."),
				optional("why", atMost(1<<10), "Why, for people, for instance the question that a human must answer."),
			}, deed((*mcpDesk).declare)},
		{"report_health", "Report your health",
			"Say how you are: healthy (ends what you have declared before) or degraded (you go on, with difficulties). Call it when that changes, or as often as your instructions ask for it.",
			false, []mcpParam{
				required("status", oneOf("healthy", "degraded"), "How you are."),
				optional("why", atMost(1<<10), "What is wrong, for people."),
			}, deed((*mcpDesk).reportHealth)},
		{"remember", "Keep a value for your next life",
			"Keep one short value, usually the id of your conversation, for the life that follows when this one crashes or is restarted. It replaces the one before; an empty value forgets it.",
			false, []mcpParam{required("value", atMost(agent.MaxResume), "The value.")}, deed((*mcpDesk).remember)},
		{"my_status", "See where you stand",
			"Tell who you are, which task you hold (with its text, if you have forgotten it), and what the fleet thinks of you.",
			true, nil, deed((*mcpDesk).myStatus)},
		{"colleagues", "See the other agents",
			"List the agents of your room, with their roles, what they work on and whether they are well.",
			true, []mcpParam{
				optional("role", atMost(200), "Only those of this role."),
				optional("after", atMost(400), "Go on after this agent, when there were more than fit into one answer."),
			}, deed((*mcpDesk).colleagues)},
	}
}

func mcpMailTools() []mcpTool {
	return []mcpTool{
		{"send_mail", "Send mail",
			"Write to another agent, to all agents of a role, or to the rest of your room. For work that somebody shall do use handoff_task instead: mail is for questions, answers and warnings.",
			false, []mcpParam{
				optional("to", atMost(400), "room/role.2 for one agent (room/role.1 is the first), room/role for each agent of the role, room for each other agent of the room; colleagues shows the names. With reply_to you may leave it out: the mail goes to who sent that one."),
				optional("subject", atMost(256), "In a few words. Subject or body is needed."),
				optional("body", atMost(16<<10), "At most 16 KiB; name a file for more."),
				optional("priority", oneOf("urgent", "high", "normal", "low"), "How soon it has to be acknowledged: urgent in 2 minutes, high in 5 (both are escalated when nothing happens), normal (usual) in 15, low whenever."),
				optional("kind", atMost(64), "A word for programs, for instance status-inquiry."),
				optional("reply_to", wholeNumber(1, 1<<53), "The number of the mail that this one answers."),
				optional("only_if_running", yesNo(), "Refuse it when the agent is off, instead of keeping it for its next life."),
			}, deed((*mcpDesk).sendMail)},
		{"read_mail", "Read mail",
			fmt.Sprintf("Take your unread mail, the most urgent first, at most %d at once. What you have read stays open until you call ack_mail.", maxMailAtOnce),
			false, []mcpParam{
				optional("seconds", wholeNumber(1, MaxWait.Seconds()), "Wait so long for mail when there is none. wait_for_task also ends when mail comes."),
				optional("mail", wholeNumber(1, 1<<53), "Show this one again, by its number; it marks nothing."),
			}, deed((*mcpDesk).readMail)},
		{"ack_mail", "Acknowledge mail",
			"Say that you have dealt with mails. Until you do you are reminded of them, and your next life gets them again.",
			false, []mcpParam{required("mails", numbers(100), "Their numbers.")}, deed((*mcpDesk).ackMail)},
		{"inbox", "List open mail",
			"List your mails that you have not acknowledged, read or not, without their bodies.",
			true, nil, deed((*mcpDesk).inbox)},
	}
}

// mcpParam is one parameter of a tool.
type mcpParam struct {
	name   string
	needed bool
	schema *jsonschema.Schema
}

func required(name string, s *jsonschema.Schema, about string) mcpParam {
	s.Description = about
	return mcpParam{name, true, s}
}

func optional(name string, s *jsonschema.Schema, about string) mcpParam {
	s.Description = about
	return mcpParam{name, false, s}
}

// atMost is a text of so many characters.
func atMost(most int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MaxLength: &most}
}
func yesNo() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }
func wholeNumber(least, most float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: &least, Maximum: &most}
}
func positive(most float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "number", ExclusiveMinimum: new(float64), Maximum: &most}
}
func oneOf(values ...any) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: values}
}

// numbers is a list of at least one and at most so many numbers, for instance of mails.
func numbers(most int) *jsonschema.Schema {
	least := 1
	return &jsonschema.Schema{Type: "array", Items: wholeNumber(1, 1<<53), MinItems: &least, MaxItems: &most}
}

// schema is that of all arguments; anything else is refused, so that a model notices
// when it has a name wrong.
func (t *mcpTool) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, p := range t.params {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.needed {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

// add offers the tool to the clients of a server.
func (t *mcpTool) add(s *mcp.Server, d *mcpDesk) {
	no := false
	t.do(s, d, &mcp.Tool{Name: t.name, Title: t.title, Description: t.about, InputSchema: t.schema(),
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: t.reads, DestructiveHint: &no, OpenWorldHint: &no}})
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
func deed[In, Out any, P mcpAnswer[Out]](do func(*mcpDesk, context.Context, *mcp.CallToolRequest, In) (Out, error)) mcpDeed {
	return func(s *mcp.Server, d *mcpDesk, tool *mcp.Tool) {
		mcp.AddTool(s, tool, func(ctx context.Context, call *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := do(d, ctx, call, in)
			if err != nil {
				return nil, out, err
			}
			P(&out).begin(d.news(ctx))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: P(&out).words()}}}, out, nil
		})
	}
}

// mcpSaid is what every answer says.
type mcpSaid struct {
	Message string `json:"message" jsonschema:"what has happened and what to do next"`
}

func (s *mcpSaid) words() string { return s.Message }

func (s *mcpSaid) begin(notice string) {
	if notice != "" {
		s.Message = notice + " " + s.Message
	}
}

// saidf makes an answer that is nothing but words.
func saidf(format string, args ...any) mcpSaid { return mcpSaid{fmt.Sprintf(format, args...)} }
