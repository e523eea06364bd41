package conf

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
)

// document is one YAML document of a file.
type document struct {
	file string
	text string // of the whole file
	body ast.Node
}

// decode reads the document into v; unknown and repeated keys are mistakes.
func (d *document) decode(v any) (err error) {
	defer guard(d.file, &err)
	err = yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNode(d.body, v)
	return misread(d.file, d.text, err)
}

// item gives the node of an item of a list below a key, the document where there is none.
func (d *document) item(key string, i int) ast.Node {
	pairs := []*ast.MappingValueNode{}
	switch body := d.body.(type) {
	case *ast.MappingNode:
		pairs = body.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{body}
	}
	for _, pair := range pairs {
		list, ok := pair.Value.(*ast.SequenceNode)
		if ok && pair.Key.GetToken().Value == key && i < len(list.Values) {
			return list.Values[i]
		}
	}
	return d.body
}

// start is the first token of a node: that of a map is the colon behind its first key.
func start(node ast.Node) *token.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}

// parseYAML reads one document, or nothing where there is only white space.
func parseYAML(file, whole, part string) (parsed *ast.File, err error) {
	defer guard(file, &err)
	parsed, err = parser.ParseBytes([]byte(part), 0)
	return parsed, misread(file, whole, err)
}

// guard turns a panic of the YAML library, which some nonsense provokes, into a
// mistake of the file.
func guard(file string, err *error) {
	if recover() != nil {
		*err = cli.Usagef("%s is not YAML that can be understood: compare it with configs/room.yaml", file)
	}
}

// misread gives a mistake that was found while reading YAML its place.
func misread(file, text string, err error) error {
	var value *valueError
	var y yaml.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &value):
		return placed(file, text, value.at, value.message)
	case errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil:
		return placed(file, text, y.GetToken(), reworded(y))
	}
	return cli.Usagef("%s: %w", file, err)
}

// reworded says the library's complaint in our words.
func reworded(err yaml.Error) string {
	var unknown *yaml.UnknownFieldError
	var repeated *yaml.DuplicateKeyError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("unknown key %q: check its spelling and indentation", err.GetToken().Value)
	case errors.As(err, &repeated):
		return fmt.Sprintf("key %q stands here for the second time: remove one", err.GetToken().Value)
	}
	var kind *yaml.TypeError
	if errors.As(err, &kind) && kind.DstType != nil {
		switch kind.DstType.Kind() {
		case reflect.Bool:
			return "want true or false"
		case reflect.String:
			return "want a text"
		case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
			return "want a whole number"
		case reflect.Slice:
			return "want a list"
		case reflect.Map, reflect.Struct:
			return "want keys with values"
		}
	}
	var node *yaml.UnexpectedNodeTypeError
	if errors.As(err, &node) {
		switch node.Expected {
		case ast.SequenceType:
			return "want a list: [" + cutWord(err.GetToken().Value) + "]"
		case ast.MappingType:
			return "want keys with values"
		}
	}
	said := strings.TrimSpace(err.GetMessage())
	for _, w := range syntaxWords {
		if strings.Contains(said, w.said) {
			return w.means
		}
	}
	if strings.HasPrefix(said, "found character '\t'") {
		return "a tab stands here: indent with spaces"
	}
	return said
}

// syntaxWords say what is wrong with a text that is no YAML; the library speaks of tokens.
var syntaxWords = [...]struct{ said, means string }{
	{"sequence end token ']' not found", "this [ has no ]"},
	{"flow mapping end token '}'", "this { has no }"},
	{"',' or ']' must be specified", "a comma or ] is missing before this"},
	{"',' or '}' must be specified", "a comma or } is missing before this"},
	{"already defined at", "this key stands here for the second time: remove one"},
	{"double-quoted text", "this quote has no end"},
	{"single-quoted text", "this quote has no end"},
	{"mapping value is not allowed", "a : cannot stand here: check the indentation, or put the text in quotes"},
	{"non-map value is specified", "a key without a value: write KEY: VALUE, and check the indentation"},
	{"unexpected key name", "a key without a colon: write KEY: VALUE, and check the indentation"},
}

// cutWord shortens a value that an error repeats.
func cutWord(text string) string {
	if text = strings.TrimSpace(text); text == "" || len(text) > 40 || strings.ContainsAny(text, "\n[]{}") {
		return "..."
	}
	return text
}

// placed makes a cli.PlaceError at a token.
func placed(file, text string, at *token.Token, message string) error {
	e := &cli.PlaceError{File: file, Line: 1, Column: 1, Message: term.Tidy(message)}
	if at != nil && at.Position != nil {
		e.Line, e.Column = at.Position.Line, at.Position.Column
	}
	if lines := strings.Split(text, "\n"); e.Line <= len(lines) {
		e.Source = strings.TrimRight(lines[e.Line-1], "\r")
	}
	return cli.WrongUsage(e)
}

// valueError is a value that cannot be what its key wants.
type valueError struct {
	at      *token.Token
	message string
}

func (e *valueError) Error() string { return e.message }

// scalar gives the text of a plain value; want says what the key takes.
func scalar(node ast.Node, want string) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", &valueError{node.GetToken(), "want " + want}
}

// textValue is a text with its place.
type textValue struct {
	text string
	at   *token.Token
}

// UnmarshalYAML takes plain values, numbers too.
func (v *textValue) UnmarshalYAML(node ast.Node) (err error) {
	v.at = node.GetToken()
	v.text, err = scalar(node, "a text")
	return err
}

// spanValue is a duration with its place.
type spanValue struct {
	Span time.Duration
	at   *token.Token
}

// UnmarshalYAML takes durations like 60s, 5m, 1h30m or 2d.
func (v *spanValue) UnmarshalYAML(node ast.Node) error {
	const want = "a duration like 60s, 5m or 2d"
	v.at = node.GetToken()
	text, err := scalar(node, want)
	if err != nil {
		return err
	}
	v.Span, err = cli.ParseSpan(text)
	if err != nil {
		return &valueError{v.at, fmt.Sprintf("%q is not %s", text, want)}
	}
	if v.Span < 0 {
		return &valueError{v.at, fmt.Sprintf("%q is negative: give %s", text, want)}
	}
	return nil
}

// countValue is a whole number with its place.
type countValue struct {
	n  uint32
	at *token.Token
}

// UnmarshalYAML takes numbers from 0 to 4,294,967,295.
func (v *countValue) UnmarshalYAML(node ast.Node) error {
	v.at = node.GetToken()
	text, err := scalar(node, "a whole number")
	if err != nil {
		return err
	}
	digits := strings.ReplaceAll(text, "_", "")
	n, err := strconv.ParseUint(digits, 10, 32)
	if _, e := strconv.ParseInt(digits, 10, 64); err != nil && e == nil {
		return &valueError{v.at, text + " is out of range: give a whole number from 0 to 4294967295"}
	}
	if err != nil {
		return &valueError{v.at, fmt.Sprintf("%q is not a whole number", text)}
	}
	v.n = uint32(n)
	return nil
}
