package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"vigil/rpc/code"
)

const typescriptHead = `// The messages of vigil's API: what a call takes and what it answers.
// Made by ` + "`make generate`" + ` from the OpenAPI document. Do not edit.

/** A whole number of 64 bits, as digits: a number of this language does not hold it. */
export type Digits = string;

/** A whole number of 64 bits, as a number, a bigint or digits. */
export type Wide = string | number | bigint;

/** A span of time: seconds with an s, such as ` + "`1.5s`" + `. */
export type Duration = ` + "`${number}s`" + `;

/** A time by RFC 3339, on the clock of the server that answers. */
export type Time = string;
`

func typescriptMessages(a *api) string {
	var b strings.Builder
	b.WriteString(typescriptHead)
	for _, e := range a.enums {
		fmt.Fprintf(&b, "\nexport type %s =\n  | %s;\n", e.name, `"`+strings.Join(e.values, "\"\n  | \"")+`"`)
	}
	for _, m := range a.messages {
		b.WriteString("\n")
		comment(&b, "", m.doc)
		fmt.Fprintf(&b, "export interface %s {\n", m.name)
		for _, f := range m.fields {
			comment(&b, "  ", f.doc)
			mark := "?"
			if f.needed {
				mark = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", f.name, mark, typescriptKind(f.of, m.asked))
		}
		b.WriteString("}\n")
	}
	b.WriteString("\n/** What each call takes and answers; of a call whose answer is many messages, one of them. */\n")
	b.WriteString("export interface Calls {\n")
	for _, c := range a.calls {
		comment(&b, "  ", c.doc)
		fmt.Fprintf(&b, "  %q: { request: %s; response: %s };\n", c.name, c.request, c.response)
	}
	b.WriteString("}\n")
	return b.String()
}

func comment(b *strings.Builder, indent, doc string) {
	doc = strings.ReplaceAll(sentence(doc), "*/", "* /")
	if doc == "" {
		return
	}
	if line := indent + "/** " + strings.Join(strings.Fields(doc), " ") + " */"; len(line) <= width {
		b.WriteString(line + "\n")
		return
	}
	b.WriteString(indent + "/**\n" + strings.Join(wrapped(doc, indent+" * "), "\n") + "\n" + indent + " */\n")
}

func typescriptKind(k kind, asked bool) string {
	word := k.ref
	if word == "" {
		word = map[string]string{wordText: "string", wordSpan: "Duration", wordTime: "Time", wordWide: "Digits",
			wordWhole: "number", wordReal: "number", wordFlag: "boolean", wordBytes: "string", wordAny: "unknown"}[k.word]
	}
	if k.word == wordWide && asked {
		word = "Wide"
	}
	if k.byName {
		word = "Record<string, " + word + ">"
	}
	if k.list {
		word += "[]"
	}
	return word
}

const typescriptCallsNote = `// The calls of vigil's API: how each is made over HTTP, and when it may be repeated.
// Made by ` + "`make generate`" + ` from the OpenAPI document. Do not edit.
`

const typescriptCallsTypes = `
import type { Calls } from "./messages.js";

/** How a call is made. Of several routes the first counts whose variables all have a value. */
export interface Route {
  readonly verb: string;
  readonly path: string;
  /** Fields of the message that stand in the path. */
  readonly variables: readonly string[];
  /** Fields that follow it, where the call has no body. */
  readonly query: readonly string[];
  /** All other fields are sent as JSON. */
  readonly body: boolean;
}

/** What a client has to know of a call. */
export interface Method {
  readonly routes: readonly Route[];
  /**
   * always: it may be repeated while it is open whether it was done, where numbered says so under its
   * write id only; unsent: only after an answer that proves that nothing was done; never.
   */
  readonly repeat: "always" | "unsent" | "never";
  /** It takes a write id. */
  readonly numbered: boolean;
  /** A server may hold it for as long as its caller likes. */
  readonly parked: boolean;
  /** Its answer may take minutes. */
  readonly long: boolean;
  /** Its answer is many messages, one a line. */
  readonly streams: boolean;
}
`

const typescriptCallsType = ": Readonly<Record<keyof Calls, Method>>"

// typescriptCalls writes the source of the table of calls.
func typescriptCalls(a *api) string {
	return typescriptCallsNote + typescriptCallsTypes + "\nexport const methods" + typescriptCallsType + " = " +
		callsTable(a)
}

// javascriptCalls is what the compiler makes of it, but for its layout.
func javascriptCalls(a *api) string {
	return typescriptCallsNote + "export const methods = " + callsTable(a)
}

// declaredCalls are its types.
func declaredCalls() string {
	return typescriptCallsNote + typescriptCallsTypes + "\nexport declare const methods" + typescriptCallsType + ";\n"
}

// javascriptMessages is what is left of the messages where there are no types.
func javascriptMessages() string { return "// Messages are types: see messages.d.ts.\nexport {};\n" }

func callsTable(a *api) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, c := range a.calls {
		fmt.Fprintf(&b, "  %q: {\n    routes: [\n", c.name)
		for _, r := range c.routes {
			fmt.Fprintf(&b, "      { verb: %q, path: %q, variables: %s, query: %s, body: %t },\n", r.verb, r.path,
				quoted(r.vars), quoted(r.query), r.body)
		}
		fmt.Fprintf(&b, "    ],\n    repeat: %q,\n    numbered: %t,\n    parked: %t,\n    long: %t,\n"+
			"    streams: %t,\n  },\n",
			c.repeats(), c.numbered, c.nature.Parked(), c.nature.Long(), c.streams)
	}
	b.WriteString("};\n")
	return b.String()
}

// quoted writes words as a list; names of fields need no escape.
func quoted(words []string) string {
	if len(words) == 0 {
		return "[]"
	}
	return `["` + strings.Join(words, `", "`) + `"]`
}

const typescriptErrorsHead = `// The errors of vigil's API, a class for each code.
// Made by ` + "`make generate`" + ` from the table of docs/errors.md. Do not edit.

/** What is known of an error beside its sentence. */
export interface Details {
  /** The current revision, after a Conflict about one. */
  rev?: number;
  /** The leader's API address, where the server knew it. */
  leader?: string;
  /** The oldest event that a reader may go on from, after Compacted. */
  oldest?: number;
  /** Why the client stopped trying. */
  cause?: unknown;
}

/**
 * What became of a call: refused, over (nobody wants it any more), later (it may be taken when what the
 * error names has changed), elsewhere (not done here), open (it may or may not have been done) or broken.
 */
export type Fate = "refused" | "over" | "later" | "elsewhere" | "open" | "broken";

/** What a call failed with. Compare classes or code, never sentences. */
export class VigilError extends Error {
  override readonly name: string = "VigilError";
  /** The stable name; that of an error of a newer server stays as it came. */
  readonly code: string;
  /** The status of an answer with this code. */
  readonly http: number = 500;
  readonly fate: Fate = "broken";
  /** What to do, in one sentence. */
  readonly remedy: string = "";
  declare readonly rev?: number;
  declare readonly leader?: string;
  declare readonly oldest?: number;

  constructor(code: string, message?: string, details: Details = {}) {
    super(message || code.replaceAll("_", " "), "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    if (details.rev !== undefined) this.rev = details.rev;
    if (details.leader !== undefined) this.leader = details.leader;
    if (details.oldest !== undefined) this.oldest = details.oldest;
  }

  /** The answer is no: the same call gets the same answer. */
  get final(): boolean {
    return this.fate === "refused" || this.fate === "over";
  }

  /** A server could not do its work just now; asking again helps. */
  get fleeting(): boolean {
    return this.fate === "elsewhere" || this.fate === "open";
  }
}
`

func typescriptErrors() string {
	var b strings.Builder
	b.WriteString(typescriptErrorsHead)
	var names []string
	for _, r := range code.Rows() {
		if r.Name == code.OK {
			continue
		}
		names = append(names, r.Name)
		b.WriteString("\n")
		comment(&b, "", r.Remedy)
		remedy, _ := json.Marshal(r.Remedy) // a plain text
		fmt.Fprintf(&b, "export class %s extends VigilError {\n", class(r.Name))
		fmt.Fprintf(&b, "  override readonly name = %q;\n  override readonly http = %d;\n  override readonly fate = %q;\n"+
			"  override readonly remedy =\n    %s;\n\n", class(r.Name), r.HTTP, r.Fate, remedy)
		fmt.Fprintf(&b, "  constructor(message?: string, details?: Details) {\n"+
			"    super(%q, message, details);\n  }\n}\n", r.Name)
	}
	b.WriteString("\n/** The class of each code; of one that is not here, " +
		"which a newer server may send, VigilError. */\n" +
		"export const codes: Readonly<\n  Record<string, new (message?: string, details?: Details) => VigilError>\n> = {\n")
	for _, name := range names {
		fmt.Fprintf(&b, "  %s: %s,\n", name, class(name))
	}
	b.WriteString("};\n\n/** Makes the error of a code. */\n" +
		"export function errorOf(code: string, message?: string, details?: Details): VigilError {\n" +
		"  const known = Object.hasOwn(codes, code) ? codes[code] : undefined;\n" +
		"  return known ? new known(message, details) : new VigilError(code, message, details);\n}\n")
	return b.String()
}
