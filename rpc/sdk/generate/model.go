package main

import (
	"vigil/rpc/code"
)

// api is what an SDK has to know, in an order that does not change by itself.
type api struct {
	enums    []enum
	messages []message
	calls    []call
}

type enum struct {
	name   string
	values []string
}

// message is one that is sent or comes as an answer; asked: callers send it and no answer holds it.
type message struct {
	name, doc string
	fields    []field
	asked     bool
}

// field is always there when needed says so: in an answer, or because a request is refused without it.
type field struct {
	name, doc string
	of        kind
	needed    bool
}

// kind is the type of a field: one of the words below, or a message or enum by its name.
type kind struct {
	word, ref string
	list      bool
	byName    bool // a map from text
}

// The words of kinds. Whole numbers of 64 bits are text of digits in JSON, since a double does not hold them.
const (
	wordText  = "text"
	wordSpan  = "span"  // seconds with an s: 1.5s
	wordTime  = "time"  // RFC 3339
	wordWide  = "wide"  // whole, 64 bits
	wordWhole = "whole" // whole, 32 bits
	wordReal  = "real"
	wordFlag  = "flag"
	wordBytes = "bytes" // base64
	wordAny   = "any"
)

// call is one method. Its name is Service.Method.
type call struct {
	name, doc         string
	request, response string
	routes            []route
	nature            code.Nature
	numbered          bool // it takes a write id
	streams           bool // its answer is many messages
}

// route is how a call is made over HTTP. Of several the first counts whose variables all have a value.
type route struct {
	verb, path  string
	vars, query []string
	body        bool
}

// repeats says in a word when a client may send the call again by itself.
func (c *call) repeats() string {
	switch {
	case c.nature.Repeatable():
		return "always"
	case c.nature.RepeatableAfter(code.NoLeader):
		return "unsent"
	}
	return "never"
}
