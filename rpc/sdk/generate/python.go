package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vigil/rpc/code"
)

const pythonHead = `"""The messages of vigil's API: what a call takes and what it answers, as typed dictionaries.

Made by ` + "`make generate`" + ` from the OpenAPI document. Do not edit.

What a class lists under total=False may be absent: it is not set. Whole numbers of 64 bits, numbers
of tasks among them, are digits in a string; requests take an int, too.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union

Digits = str
"""A whole number of 64 bits, as digits."""
Wide = Union[int, str]
"""A whole number of 64 bits, as a number or as digits."""
Duration = str
"""A span of time: seconds with an s, such as 1.5s."""
Time = str
"""A time by RFC 3339, on the clock of the server that answers."""
`

// pythonWords are the names that a class cannot give to a field.
var pythonWords = []string{"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
	"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
	"or", "pass", "raise", "return", "try", "while", "with", "yield"}

func pythonMessages(a *api) string {
	var b strings.Builder
	b.WriteString(pythonHead)
	for _, e := range a.enums {
		fmt.Fprintf(&b, "\n%s = Literal[\n", e.name)
		for _, v := range e.values {
			fmt.Fprintf(&b, "    %q,\n", v)
		}
		b.WriteString("]\n")
	}
	for _, m := range a.messages {
		pythonMessage(&b, m)
	}
	return b.String()
}

// pythonMessage writes a class; two where some fields are always there and others are not.
func pythonMessage(b *strings.Builder, m message) {
	var always, sometimes []field
	for _, f := range m.fields {
		if f.needed {
			always = append(always, f)
		} else {
			sometimes = append(sometimes, f)
		}
	}
	base := "TypedDict"
	if len(always) > 0 && len(sometimes) > 0 {
		base = "_" + m.name + "Always"
		pythonClass(b, base, "TypedDict", "", always, m.asked, true)
	}
	if len(sometimes) > 0 {
		pythonClass(b, m.name, base, m.doc, sometimes, m.asked, false)
	} else {
		pythonClass(b, m.name, base, m.doc, always, m.asked, true)
	}
}

func pythonClass(b *strings.Builder, name, base, doc string, fields []field, asked, total bool) {
	more := ", total=False"
	if total {
		more = ""
	}
	if slices.ContainsFunc(fields, func(f field) bool { return slices.Contains(pythonWords, f.name) }) {
		part := "_" + name + "Fields"
		fmt.Fprintf(b, "\n\n%s = TypedDict(\n    %q,\n    {\n", part, part)
		for _, f := range fields {
			for _, line := range wrapped(sentence(f.doc), "        # ") {
				b.WriteString(line + "\n")
			}
			fmt.Fprintf(b, "        %q: %s,\n", f.name, strconv.Quote(pythonKind(f.of, asked)))
		}
		fmt.Fprintf(b, "    }%s,\n)\n", strings.Replace(more, ", ", ",\n    ", 1))
		if base == "TypedDict" {
			base = part
		} else {
			base += ", " + part
		}
		fields, more = nil, ""
	}
	fmt.Fprintf(b, "\n\nclass %s(%s%s):\n", name, base, more)
	docstring(b, doc)
	if len(fields) > 0 && doc != "" {
		b.WriteString("\n")
	}
	for _, f := range fields {
		fmt.Fprintf(b, "    %s: %s\n", f.name, pythonKind(f.of, asked))
		docstring(b, f.doc)
	}
	if len(fields) == 0 && doc == "" {
		b.WriteString("    pass\n")
	}
}

func docstring(b *strings.Builder, doc string) {
	if doc == "" {
		return
	}
	doc = strings.ReplaceAll(sentence(doc), `\`, `\\`)
	if strings.HasSuffix(doc, `"`) {
		doc += " "
	}
	lines := wrapped(strings.ReplaceAll(doc, `"""`, `'''`)+`"""`, "    ")
	lines[0] = `    """` + strings.TrimLeft(lines[0], " ")
	b.WriteString(strings.Join(lines, "\n") + "\n")
}

func pythonKind(k kind, asked bool) string {
	word := k.ref
	if word == "" {
		word = map[string]string{wordText: "str", wordSpan: "Duration", wordTime: "Time",
			wordWide: "Digits", wordWhole: "int", wordReal: "float", wordFlag: "bool", wordBytes: "str", wordAny: "Any"}[k.word]
	}
	if k.word == wordWide && asked {
		word = "Wide"
	}
	if k.byName {
		word = "Dict[str, " + word + "]"
	}
	if k.list {
		word = "List[" + word + "]"
	}
	return word
}

const pythonCallsHead = `"""The calls of vigil's API: how each is made over HTTP, and when it may be repeated.

Made by ` + "`make generate`" + ` from the OpenAPI document. Do not edit.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Route(NamedTuple):
    """How a call is made. Of several routes the first counts whose variables all have a value."""

    verb: str
    path: str
    variables: Tuple[str, ...]
    """Fields of the message that stand in the path."""
    query: Tuple[str, ...]
    """Fields that follow it, where the call has no body."""
    body: bool
    """All other fields are sent as JSON."""


class Method(NamedTuple):
    """What a client has to know of a call."""

    routes: Tuple[Route, ...]
    repeat: str
    """always: it may be repeated while it is open whether it was done, where numbered says so under
    its write id only; unsent: only after an answer that proves that nothing was done; never."""
    numbered: bool
    """It takes a write id."""
    parked: bool
    """A server may hold it for as long as its caller likes."""
    long: bool
    """Its answer may take minutes."""
    streams: bool
    """Its answer is many messages, one a line."""


METHODS: Dict[str, Method] = {
`

func pythonCalls(a *api) string {
	var b strings.Builder
	b.WriteString(pythonCallsHead)
	flag := map[bool]string{true: "True", false: "False"}
	for _, c := range a.calls {
		fmt.Fprintf(&b, "    %q: Method(\n        (\n", c.name)
		for _, r := range c.routes {
			fmt.Fprintf(&b, "            Route(%q, %q, %s, %s, %s),\n", r.verb, r.path, tuple(r.vars), tuple(r.query),
				flag[r.body])
		}
		fmt.Fprintf(&b, "        ),\n        %q, numbered=%s, parked=%s, long=%s, streams=%s,\n    ),\n", c.repeats(),
			flag[c.numbered], flag[c.nature.Parked()], flag[c.nature.Long()], flag[c.streams])
	}
	b.WriteString("}\n")
	return b.String()
}

func tuple(words []string) string {
	if len(words) == 0 {
		return "()"
	}
	return `("` + strings.Join(words, `", "`) + `",)`
}

const pythonErrorsHead = `"""The errors of vigil's API, a class for each code.

Made by ` + "`make generate`" + ` from the table of docs/errors.md. Do not edit.
"""

from __future__ import annotations

from typing import Dict, Optional, Type


class VigilError(Exception):
    """What a call failed with. Compare classes or code, never sentences."""

    code = "internal"
    """The stable name."""
    http = 500
    """The status of an answer with this code."""
    fate = "broken"
    """What became of the call: refused, over (nobody wants it any more), later (it may be taken
    when what the error names has changed), elsewhere (not done here), open (it may or may not have
    been done) or broken."""
    final = False
    """The answer is no: the same call gets the same answer."""
    fleeting = False
    """A server could not do its work just now; asking again helps."""
    remedy = ""
    """What to do, in one sentence."""

    def __init__(
        self,
        message: str = "",
        *,
        rev: Optional[int] = None,
        leader: str = "",
        oldest: Optional[int] = None,
    ) -> None:
        super().__init__(message or self.remedy or self.code.replace("_", " "))
        self.message = str(self)
        """What happened, where, and what to do."""
        self.rev = rev
        """The current revision, after a Conflict about one."""
        self.leader = leader
        """The leader's API address, where the server knew it."""
        self.oldest = oldest
        """The oldest event that a reader may go on from, after Compacted."""
`

func pythonErrors() string {
	var b strings.Builder
	b.WriteString(pythonErrorsHead)
	flag := map[bool]string{true: "True", false: "False"}
	var names []string
	for _, r := range code.Rows() {
		if r.Name == code.OK {
			continue
		}
		names = append(names, r.Name)
		fmt.Fprintf(&b, "\n\nclass %s(VigilError):\n", class(r.Name))
		docstring(&b, r.Remedy)
		fmt.Fprintf(&b, "\n    code = %q\n    http = %d\n    fate = %q\n    final = %s\n    fleeting = %s\n"+
			"    remedy = (\n",
			r.Name, r.HTTP, r.Fate, flag[r.Fate.No()], flag[r.Fate.Fleeting()])
		lines := wrapped(r.Remedy, "        ")
		for i, line := range lines {
			line = strings.TrimSpace(line)
			if i < len(lines)-1 {
				line += " "
			}
			fmt.Fprintf(&b, "        %s\n", strconv.Quote(line))
		}
		b.WriteString("    )\n")
	}
	b.WriteString("\n\nCODES: Dict[str, Type[VigilError]] = {\n")
	for _, name := range names {
		fmt.Fprintf(&b, "    %q: %s,\n", name, class(name))
	}
	b.WriteString("}\n\"\"\"The class of each code; of one that is not here, which a newer server may send, " +
		"VigilError.\"\"\"\n")
	return b.String()
}
