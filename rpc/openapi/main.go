package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
	_ "vigil/rpc/gen/vigilv1" // registers the messages
)

type object = map[string]any

func main() {
	if err := convert(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func convert(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: openapi IN OUT")
	}
	in, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var old object
	if err := json.Unmarshal(in, &old); err != nil {
		return fmt.Errorf("read %s: %w", args[0], err)
	}
	out, err := json.MarshalIndent(document(old), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], append(out, '\n'), 0o644)
}

// document gives the 3.1 document of a 2.0 one.
func document(old object) object {
	schemas := object{"Error": errorSchema()}
	for name, schema := range old["definitions"].(object) {
		if name == "googleRpcStatus" || name == "protobufAny" {
			continue
		}
		schemas[bare(name)] = named(bare(name), renamed(schema).(object))
	}
	paths := object{}
	for path, methods := range old["paths"].(object) {
		for method, op := range methods.(object) {
			methods.(object)[method] = operation(path, method, op.(object))
		}
		paths[path] = methods
	}
	return object{"openapi": "3.1.0", "info": old["info"], "tags": old["tags"], "paths": paths,
		"servers": []any{object{"url": "/"}}, "security": []any{},
		"components": object{"schemas": schemas}}
}

var prefix = regexp.MustCompile(`^(vigilV1|v1)([A-Z].*)$`)

// bare is the name of a schema without its package.
func bare(name string) string { return prefix.ReplaceAllString(name, "$2") }

// renamed rewrites references, and what 3.1 says in another way.
func renamed(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = renamed(x[i])
		}
	case object:
		for k, y := range x {
			if ref, ok := y.(string); ok && k == "$ref" {
				x[k] = "#/components/schemas/" + bare(strings.TrimPrefix(ref, "#/definitions/"))
				continue
			}
			x[k] = renamed(y)
		}
		if x["format"] == "byte" {
			delete(x, "format")
			x["contentEncoding"] = "base64"
		}
	}
	return v
}

// named completes the schema of a message: which fields are always there, enums without their zero.
func named(name string, s object) object {
	if list, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(list, func(v any) bool { return strings.HasSuffix(v.(string), "_UNSPECIFIED") })
		delete(s, "default")
		return s
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("vigil.v1." + name))
	m, ok := d.(protoreflect.MessageDescriptor)
	if err != nil || !ok || strings.HasSuffix(name, "Request") || askedFor[name] {
		return s
	}
	var always []string
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); alwaysThere(f) {
			always = append(always, f.TextName())
		}
	}
	if len(always) > 0 {
		s["required"] = always
	}
	return s
}

// askedFor are messages that callers send too, where anything may be left out.
var askedFor = map[string]bool{"RoleSpec": true, "RoomWatch": true, "OverseerSpec": true, "HealthSpec": true,
	"Speaker": true, "WriteId": true, "Completion": true, "Failure": true, "Handover": true}

// alwaysThere tells whether answers have a field whatever its value, as package jsonform writes them.
func alwaysThere(f protoreflect.FieldDescriptor) bool {
	switch f.Kind() {
	case protoreflect.BoolKind, protoreflect.Int32Kind, protoreflect.Uint32Kind:
		return !f.HasPresence() || f.IsList()
	}
	return f.IsList() || f.IsMap()
}

// errorSchema is the body of every answer that is not 2xx.
func errorSchema() object {
	var names []string
	for _, r := range code.Rows() {
		if r.Name != code.OK && r.Name != code.Closed {
			names = append(names, r.Name)
		}
	}
	text := func(says string) object { return object{"type": "string", "description": says} }
	number := func(says string) object { return object{"type": "integer", "format": "int64", "description": says} }
	return object{"type": "object", "required": []string{"code", "message"}, "properties": object{
		"code":    object{"type": "string", "enum": names, "description": "Stable name; docs/errors.md has the table."},
		"message": text("What happened, where, and what to do."),
		"rev":     number("The current revision, when code is conflict and a revision was named."),
		"leader":  text("API address of the leader, when the server knows it."),
		"oldest":  number("Oldest index that a watch may resume from, when code is compacted."),
	}}
}

func operation(path, method string, op object) object {
	if id, _ := op["operationId"].(string); strings.HasSuffix(id, "2") { // the same call by another path
		of := strings.Split(path, "/")[2]
		op["operationId"], op["summary"] = id[:len(id)-1]+"_"+of, fmt.Sprint(op["summary"], " By ", of, ".")
	}
	var parameters []any
	for _, p := range list(op["parameters"]) {
		if p["in"] == "body" {
			op["requestBody"] = object{"required": true,
				"content": object{"application/json": object{"schema": renamed(p["schema"])}}}
			continue
		}
		parameters = append(parameters, parameter(p))
	}
	if method != "get" {
		parameters = append(parameters, object{"name": "Idempotency-Key", "in": "header",
			"description": "SESSION-SEQ: the same key gets the first answer; nothing is done twice.",
			"schema":      object{"type": "string", "pattern": "^[0-9]+-[0-9]+$"}})
	}
	if path == "/v1/events" {
		parameters = append(parameters, object{"name": "Last-Event-ID", "in": "header",
			"description": "With server-sent events: what the reader has.",
			"schema":      object{"type": "string", "pattern": "^[0-9]+$"}})
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	answer := op["responses"].(object)["200"].(object)["schema"]
	content := object{"application/json": object{"schema": renamed(answer)}}
	if path == "/v1/events" {
		content["text/event-stream"] = object{"schema": object{"type": "string"}}
	}
	if stream, ok := answer.(object)["properties"].(object); ok && stream["result"] != nil {
		delete(answer.(object), "title")
		stream["error"] = object{"$ref": "#/components/schemas/Error"}
	}
	failed := object{"description": "It was not done, or nobody knows; see code.",
		"content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}}}}
	op["responses"] = object{"200": object{"description": "It was done.", "content": content},
		"4XX": failed, "5XX": failed}
	return op
}

// parameter moves the type of a parameter into its schema.
func parameter(p object) object {
	schema := object{}
	for _, key := range []string{"type", "format", "pattern", "items", "enum"} {
		if v, ok := p[key]; ok {
			schema[key] = v
			delete(p, key)
		}
	}
	if items, ok := schema["items"].(object); ok && items["enum"] != nil {
		schema["items"] = object{"$ref": "#/components/schemas/TaskState"} // the one enum of requests
	}
	if p["collectionFormat"] == "multi" {
		p["style"], p["explode"] = "form", true
	}
	delete(p, "collectionFormat")
	if p["in"] == "query" {
		delete(p, "required")
	}
	p["schema"] = schema
	return p
}

func list(v any) (out []object) {
	all, _ := v.([]any)
	for _, x := range all {
		out = append(out, x.(object))
	}
	return out
}
