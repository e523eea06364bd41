package conf

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// healthValue says how often the agents of a role report their health: a preset, or
// {every: 45s, missed: 4}.
type healthValue struct{ spec *vigilv1.HealthSpec }

// UnmarshalYAML takes the name of a preset, none, or a map.
func (v *healthValue) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.MappingNode:
		return v.figures(node, n.Values)
	case *ast.MappingValueNode:
		return v.figures(node, []*ast.MappingValueNode{n})
	}
	want := "none, a preset (" + strings.Join(healthPresets(), ", ") + ") or {every: 45s, missed: 4}"
	text, err := scalar(node, want)
	if err != nil {
		return err
	}
	if text == "none" {
		v.spec = nil
		return nil
	}
	for _, name := range healthPresets() {
		if text == name {
			v.spec = &vigilv1.HealthSpec{Preset: text}
			return nil
		}
	}
	return &valueError{node.GetToken(), fmt.Sprintf("%q is unknown here: write %s", text, want)}
}

func (v *healthValue) figures(node ast.Node, values []*ast.MappingValueNode) error {
	v.spec = &vigilv1.HealthSpec{}
	for _, pair := range values {
		switch key := pair.Key.GetToken(); key.Value {
		case "every":
			var every spanValue
			if err := every.UnmarshalYAML(pair.Value); err != nil {
				return err
			}
			v.spec.Every = durationpb.New(every.Span)
		case "missed":
			var missed countValue
			if err := missed.UnmarshalYAML(pair.Value); err != nil {
				return err
			}
			if missed.n == 0 {
				return &valueError{missed.at, "0 missed reports are not possible: give at least 1"}
			}
			v.spec.Missed = missed.n
		default:
			return &valueError{key, fmt.Sprintf("unknown key %q: write every and missed", key.Value)}
		}
	}
	if v.spec.GetEvery().AsDuration() == 0 {
		return &valueError{node.GetToken(),
			"every is missing: say how often reports come, for instance {every: 45s, missed: 4}"}
	}
	return nil
}

func healthPresets() []string {
	var names []string
	for _, p := range noun.HealthPresets() {
		names = append(names, p.Name)
	}
	return names
}
