package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// schema is what the types need of a schema of the OpenAPI document.
type schema struct {
	Type       string             `json:"type"`
	Ref        string             `json:"$ref"`
	Enum       []string           `json:"enum"`
	Items      *schema            `json:"items"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Values     *schema            `json:"additionalProperties"`
}

// writeTypes writes the messages of the API as types. Numbers of 64 bits and spans are strings there, as on
// the wire.
func writeTypes(document, out string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	var d struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("read %s: %w", document, err)
	}
	var b strings.Builder
	b.WriteString("// Made by `make web` from the OpenAPI document. Do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		if len(s.Enum) > 0 {
			fmt.Fprintf(&b, "\nexport type %s = %s;\n", name, s.typ())
			continue
		}
		fmt.Fprintf(&b, "\nexport interface %s {\n", name)
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			mark := "?"
			if slices.Contains(s.Required, field) {
				mark = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", field, mark, s.Properties[field].typ())
		}
		b.WriteString("}\n")
	}
	return os.WriteFile(out, []byte(b.String()), 0o644)
}

func (s *schema) typ() string {
	switch {
	case s == nil:
		return "unknown"
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case len(s.Enum) > 0:
		return `"` + strings.Join(s.Enum, `" | "`) + `"`
	case s.Type == "array":
		return s.Items.typ() + "[]"
	case s.Type == "object" && s.Values != nil:
		return "Record<string, " + s.Values.typ() + ">"
	case s.Type == "integer" || s.Type == "number":
		return "number"
	case s.Type == "string", s.Type == "boolean":
		return s.Type
	}
	return "unknown"
}
