package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"vigil/cmd/vigil/term"
)

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
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, p := range t.params {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.needed {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

// check says everything that is wrong with the arguments of a call, and what is right; nil when
// the call may be made. The library checks too, but its words are for programmers.
func (t *mcpTool) check(raw json.RawMessage) error {
	given := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return mcpAdvicef("Nothing was changed: the arguments of %s must be one JSON object. %s", t.name, t.usage())
		}
	}
	var wrong []string
	for _, p := range t.params {
		value, there := given[p.name]
		delete(given, p.name)
		switch {
		case there:
			if fault := p.fault(value); fault != "" {
				wrong = append(wrong, fault)
			}
		case p.needed:
			wrong = append(wrong,
				fmt.Sprintf("%s is missing (%s)", p.name, strings.TrimRight(p.schema.Description, ".")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		wrong = append(wrong, fmt.Sprintf("there is no argument %q", name))
	}
	if len(wrong) == 0 {
		return nil
	}
	return mcpAdvicef("Nothing was changed: %s. %s", strings.Join(wrong, "; "), t.usage())
}

// usage is what to do about a wrong call.
func (t *mcpTool) usage() string {
	if len(t.params) == 0 {
		return fmt.Sprintf("Call %s again, without arguments.", t.name)
	}
	var names []string
	for _, p := range t.params {
		if p.needed {
			names = append(names, p.name+" (needed)")
		} else {
			names = append(names, p.name)
		}
	}
	return fmt.Sprintf("Call %s again, with: %s.", t.name, strings.Join(names, ", "))
}

// fault says what is wrong with a value; "": nothing.
func (p *mcpParam) fault(value any) string {
	rules, err := p.schema.Resolve(nil)
	if err != nil || rules.Validate(value) == nil { // a schema that is broken fails when the tool is added
		return ""
	}
	fault := fmt.Sprintf("%s is %s and must be %s", p.name, shown(value), allowed(p.schema))
	if value == nil && !p.needed {
		fault += ", or left out"
	}
	return fault
}

// shown is a value in an error: as JSON, cut when it is long.
func shown(value any) string {
	const most = 60
	if text, ok := value.(string); ok && len(text) > most {
		return fmt.Sprintf("a text of %d characters", len([]rune(text)))
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) > most {
		return "something else"
	}
	return term.OneLine(string(text))
}

// allowed says what a parameter may be.
func allowed(s *jsonschema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return "one of " + strings.Join(values, ", ")
	case s.Type == "string":
		return fmt.Sprintf("a string of at most %d characters", *s.MaxLength)
	case s.Type == "boolean":
		return "true or false"
	case s.Type == "integer":
		return fmt.Sprintf("a whole number from %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Type == "number":
		return fmt.Sprintf("a number above %.0f and at most %.0f", *s.ExclusiveMinimum, *s.Maximum)
	case s.Type == "array":
		return fmt.Sprintf("a list of %d to %d, each %s", *s.MinItems, *s.MaxItems, allowed(s.Items))
	}
	return "something else"
}
