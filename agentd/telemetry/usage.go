package telemetry

import "strings"

// Tool is what a tool of an AI tool does: a bounded set, whatever the tools are called.
type Tool uint8

// Kinds of tools.
const (
	ToolOther Tool = iota
	ToolShell
	ToolRead
	ToolEdit
	ToolSearch
	ToolWeb
	ToolAgent
	ToolMCP
	ToolsPlus // one more than the last
)

var toolNames = [ToolsPlus]string{"other", "shell", "read", "edit", "search", "web", "agent", "mcp"}

func (t Tool) String() string { return toolNames[t] }

// tools are the names that known AI tools give to theirs, in lower case without - and _.
var tools = map[string]Tool{
	"bash": ToolShell, "bashoutput": ToolShell, "killshell": ToolShell, "shell": ToolShell, "exec": ToolShell,
	"execcommand": ToolShell, "shellcommand": ToolShell, "localshell": ToolShell, "unifiedexec": ToolShell,
	"writestdin": ToolShell, "runshellcommand": ToolShell,
	"read": ToolRead, "notebookread": ToolRead, "readfile": ToolRead, "readmanyfiles": ToolRead,
	"listdirectory": ToolRead, "ls": ToolRead, "viewimage": ToolRead, "listdir": ToolRead,
	"edit": ToolEdit, "multiedit": ToolEdit, "write": ToolEdit, "notebookedit": ToolEdit, "applypatch": ToolEdit,
	"replace": ToolEdit, "writefile": ToolEdit,
	"grep": ToolSearch, "glob": ToolSearch, "searchfilecontent": ToolSearch, "grepfiles": ToolSearch,
	"webfetch": ToolWeb, "websearch": ToolWeb, "googlewebsearch": ToolWeb,
	"task": ToolAgent, "agent": ToolAgent, "spawnagent": ToolAgent, "delegatetoagent": ToolAgent,
	"mcptool": ToolMCP,
}

// ToolOf sorts a tool by the name that it goes by.
func ToolOf(name string) Tool {
	if len(name) > 256 {
		return ToolOther
	}
	if strings.HasPrefix(name, "mcp__") {
		return ToolMCP
	}
	name = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	return tools[name]
}

// Usage is what one life has used. It only grows. Tokens that were read from a cache are in Cache alone,
// those that were written into one are Input.
type Usage struct {
	Input, Output, Cache uint64 // tokens
	MicroUSD             uint64 // millionths of a dollar, as the tool reckons
	Tools                [ToolsPlus]uint64
}

// Uses is how often any tool was used.
func (u *Usage) Uses() (n uint64) {
	for _, uses := range u.Tools {
		n += uses
	}
	return n
}
