package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
	_ "vigil/rpc/gen/vigilv1" // registers the messages
)

// schema is what is read of a schema of the document.
type schema struct {
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Encoding    string             `json:"contentEncoding"`
	Ref         string             `json:"$ref"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Enum        []string           `json:"enum"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Values      *schema            `json:"additionalProperties"`
}

type content map[string]struct {
	Schema *schema `json:"schema"`
}

type operation struct {
	ID         string `json:"operationId"`
	Summary    string `json:"summary"`
	Parameters []struct {
		Name        string  `json:"name"`
		In          string  `json:"in"`
		Description string  `json:"description"`
		Schema      *schema `json:"schema"`
	} `json:"parameters"`
	Body *struct {
		Content content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content content `json:"content"`
	} `json:"responses"`
}

// reader collects messages while it follows the calls.
type reader struct {
	schemas map[string]*schema
	all     map[string]*message
	enums   map[string]enum
	answers map[string]bool // messages that answers hold
}

// read makes the model of a document.
func read(path string) (*api, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d struct {
		Paths      map[string]map[string]*operation `json:"paths"`
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	r := &reader{schemas: d.Components.Schemas, all: map[string]*message{}, enums: map[string]enum{},
		answers: map[string]bool{}}
	calls := map[string]*call{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, verb := range slices.Sorted(maps.Keys(d.Paths[path])) {
			if err := r.operation(calls, strings.ToUpper(verb), path, d.Paths[path][verb]); err != nil {
				return nil, fmt.Errorf("%s %s: %w", verb, path, err)
			}
		}
	}
	a := &api{}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		a.calls = append(a.calls, *calls[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.all)) {
		m := *r.all[name]
		m.asked = !r.answers[name]
		a.messages = append(a.messages, m)
	}
	for _, name := range slices.Sorted(maps.Keys(r.enums)) {
		a.enums = append(a.enums, r.enums[name])
	}
	return a, nil
}

var variable = regexp.MustCompile(`\{([a-z_]+)\}`)

// operation adds one way to make a call.
func (r *reader) operation(calls map[string]*call, verb, path string, op *operation) error {
	parts := strings.Split(op.ID, "_")
	if len(parts) < 2 {
		return fmt.Errorf("operationId %q names no call", op.ID)
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(
		protoreflect.FullName("vigil.v1." + parts[0] + "." + parts[1]))
	if err != nil {
		return err
	}
	method, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return fmt.Errorf("%s is no method", op.ID)
	}
	in := method.Input()
	id := in.Fields().ByName("id")
	c := &call{name: parts[0] + "." + parts[1], doc: op.Summary, request: string(in.Name()),
		nature:   code.NatureOf(fmt.Sprintf("/vigil.v1.%s/%s", parts[0], parts[1])),
		numbered: id != nil && id.Message() != nil, streams: method.IsStreamingServer()}
	// A parked call would hold up the numbers after its own; it is safe without one.
	c.numbered = c.numbered && !c.nature.Parked()
	way := route{verb: verb, path: path}
	m := message{name: c.request, doc: fmt.Sprintf("What %s takes.", c.name)}
	for _, p := range op.Parameters {
		f := field{name: p.Name, doc: p.Description, needed: p.In == "path"}
		switch {
		case p.In == "path":
			way.vars = append(way.vars, p.Name)
		case p.In == "query" && !strings.Contains(p.Name, "."):
			way.query = append(way.query, p.Name)
		default:
			continue // the write id is the client's business
		}
		f.of = r.kind(p.Schema, in.Fields().ByName(protoreflect.Name(p.Name)))
		m.fields = append(m.fields, f)
	}
	if want := variable.FindAllString(path, -1); len(want) != len(way.vars) {
		return fmt.Errorf("the path has the variables %v, and its parameters are %v", want, way.vars)
	}
	if op.Body != nil {
		way.body = true
		s := op.Body.Content["application/json"].Schema
		name := s.name()
		if name == c.request {
			m.doc = r.schemas[name].text()
		}
		m.fields = append(m.fields, r.fields(r.schemas[name], in)...)
	}
	if old := calls[c.name]; old != nil {
		old.routes = append(old.routes, way)
		return r.alternative(&m)
	}
	c.routes = []route{way}
	calls[c.name] = c
	if err := r.add(&m); err != nil {
		return err
	}
	c.response, err = r.response(op, c.streams)
	return err
}

// add notes a request, which several calls may take.
func (r *reader) add(m *message) error {
	slices.SortStableFunc(m.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	old := r.all[m.name]
	if old != nil && !reflect.DeepEqual(old.fields, m.fields) {
		return fmt.Errorf("%s differs from call to call", m.name)
	}
	if old == nil {
		r.all[m.name] = m
	}
	return nil
}

// alternative notes another way to make a call: what only one of them needs, the call does not.
func (r *reader) alternative(m *message) error {
	old := r.all[m.name]
	for i := range old.fields {
		at := slices.IndexFunc(m.fields, func(f field) bool { return f.name == old.fields[i].name })
		if at < 0 {
			return fmt.Errorf("%s has no %s by another path", m.name, old.fields[i].name)
		}
		old.fields[i].needed = old.fields[i].needed && m.fields[at].needed
	}
	return nil
}

// response gives the name of what answers a call, of a stream what each line holds.
func (r *reader) response(op *operation, streams bool) (string, error) {
	s := op.Responses["200"].Content["application/json"].Schema
	if streams {
		s = s.Properties["result"]
	}
	if s == nil || s.Ref == "" {
		return "", fmt.Errorf("nobody knows what answers %s", op.ID)
	}
	r.answered(s.name())
	return s.name(), nil
}

// answered notes that answers hold a message, and those in it.
func (r *reader) answered(name string) {
	if r.answers[name] {
		return
	}
	r.answers[name] = true
	r.learn(name)
	if m := r.all[name]; m != nil {
		for _, f := range m.fields {
			if f.of.ref != "" {
				r.answered(f.of.ref)
			}
		}
	}
}

// learn reads a message or enum of the document, and those in it.
func (r *reader) learn(name string) {
	s := r.schemas[name]
	if s == nil || r.all[name] != nil {
		return
	}
	if len(s.Enum) > 0 {
		r.enums[name] = enum{name, s.Enum}
		return
	}
	m := &message{name: name, doc: s.text()}
	r.all[name] = m // before its fields: messages may hold each other
	d, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("vigil.v1." + name))
	of, _ := d.(protoreflect.MessageDescriptor)
	m.fields = r.fields(s, of)
}

// neverZero are fields of answers that the document may leave out like any other that has its zero, and that
// never have it.
var neverZero = map[string][]string{
	"Task": {"id", "room", "role", "state"}, "Event": {"seq", "kind", "at"}, "Mail": {"id"},
	"ClaimResponse": {"task", "ttl"}, "JoinResponse": {"agent", "incarnation", "ttl"}, "RenewResponse": {"ttl"},
	"OpenSessionResponse": {"session"}, "Agent": {"name"},
}

// fields reads those of a schema; of tells spans from other text, where it is known.
func (r *reader) fields(s *schema, of protoreflect.MessageDescriptor) (all []field) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if p.name() == "WriteId" {
			continue
		}
		var d protoreflect.FieldDescriptor
		if of != nil {
			d = of.Fields().ByName(protoreflect.Name(name))
		}
		needed := slices.Contains(s.Required, name) || of != nil && slices.Contains(neverZero[string(of.Name())], name)
		all = append(all, field{name: name, doc: p.text(), of: r.kind(p, d), needed: needed})
	}
	return all
}

func (r *reader) kind(s *schema, d protoreflect.FieldDescriptor) kind {
	switch {
	case s.Ref != "":
		r.learn(s.name())
		return kind{ref: s.name()}
	case s.Type == "array":
		k := r.kind(s.Items, d)
		k.list = true
		return k
	case s.Type == "object" && s.Values != nil:
		k := r.kind(s.Values, nil)
		k.byName = true
		return k
	}
	return kind{word: s.word(d)}
}

func (s *schema) word(d protoreflect.FieldDescriptor) string {
	switch {
	case d != nil && d.Message() != nil && d.Message().FullName() == "google.protobuf.Duration":
		return wordSpan
	case s.Format == "date-time":
		return wordTime
	case s.Type == "string" && (s.Format == "uint64" || s.Format == "int64"):
		return wordWide
	case s.Encoding == "base64":
		return wordBytes
	case s.Type == "string":
		return wordText
	case s.Type == "integer":
		return wordWhole
	case s.Type == "number":
		return wordReal
	case s.Type == "boolean":
		return wordFlag
	}
	return wordAny
}

// name is that of the schema that s refers to.
func (s *schema) name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// text is what the document says of s. The generator of the gateway takes a comment of one line for a title.
func (s *schema) text() string {
	if s.Description == "" {
		return s.Title
	}
	return s.Description
}
