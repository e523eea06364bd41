package conf

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"vigil/cmd/vigil/cli"
)

// mostMistakes bounds how many mistakes of one file are told.
const mostMistakes = 50

// Mistakes are all that is wrong with a file, at least one. As an error it reads as the first of
// them; Each gives all.
type Mistakes []error

func (m Mistakes) Error() string { return m[0].Error() }

// Unwrap gives all of them.
func (m Mistakes) Unwrap() []error { return m }

// mistakes gives an error of those that were found, in the order of the file; nil: none were.
func mistakes(all []error) error {
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b error) int {
		var p, q *cli.PlaceError
		if !errors.As(a, &p) || !errors.As(b, &q) {
			return 0
		}
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	})
	return Mistakes(all)
}

// Each gives the errors that were joined into one.
func Each(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// decodeAll is decode that goes on behind a mistake: what is wrong is cut from the document, so that
// v holds the rest.
func (d *document) decodeAll(v any) (all []error) {
	for len(all) < mostMistakes {
		at, err := d.try(v)
		if err == nil {
			break
		}
		all = append(all, misread(d.file, d.text, err))
		if at == nil {
			break
		}
		if _, gone := cut(d.body, at); !gone {
			break
		}
	}
	return all
}

// try decodes and says where a mistake is, when that is known.
func (d *document) try(v any) (at *token.Token, err error) {
	defer guard(d.file, &err)
	err = yaml.NewDecoder(strings.NewReader(""), yaml.Strict()).DecodeFromNode(d.body, v)
	var value *valueError
	var y yaml.Error
	switch {
	case errors.As(err, &value):
		at = value.at
	case errors.As(err, &y):
		at = y.GetToken()
	}
	return at, err
}

// cut takes the innermost pair that holds a token out of the maps beneath node. It tells whether the
// token is there, and whether its pair is gone.
func cut(node ast.Node, at *token.Token) (found, gone bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for i, pair := range n.Values {
			if found, gone = cut(pair, at); found && !gone {
				n.Values = slices.Delete(n.Values, i, i+1)
			}
			if found {
				return true, true
			}
		}
	case *ast.MappingValueNode:
		if found, gone = cut(n.Value, at); found {
			return true, gone
		}
		return same(n.Key.GetToken(), at) || same(n.GetToken(), at), false
	case *ast.SequenceNode:
		for _, item := range n.Values {
			if found, gone = cut(item, at); found {
				return true, gone
			}
		}
	}
	return node != nil && same(node.GetToken(), at), false
}

func same(a, b *token.Token) bool {
	return a == b || a != nil && b != nil && a.Position != nil && b.Position != nil &&
		a.Position.Offset == b.Position.Offset
}

// syntax tells what is wrong with a text that is no YAML: the place at which the library stops, and
// the mistakes of what it would read without the block around that, a key of the outermost map and
// all beneath it. fresh makes what the documents are decoded into.
func syntax(file, text string, first error, fresh func() any) (all []error) {
	all = []error{misread(file, text, first)}
	rest, err := text, first
	for last := 0; err != nil; {
		var y yaml.Error
		if !errors.As(err, &y) || y.GetToken() == nil || y.GetToken().Position == nil {
			return all
		}
		line := y.GetToken().Position.Line
		if line <= last || len(all) == mostMistakes {
			return all // the block was not what it stumbled over
		}
		if last > 0 {
			all = append(all, misread(file, text, err))
		}
		rest, last = withoutBlock(rest, line)
		_, err = parser.ParseBytes([]byte(rest), 0)
	}
	parsed, err := parser.ParseBytes([]byte(rest), 0)
	if err != nil {
		return all
	}
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		all = append(all, (&document{file: file, text: text, body: doc.Body}).decodeAll(fresh())...)
	}
	return all
}

// withoutBlock empties the lines of the block that a line stands in, and gives the last of them. Lines
// count from 1.
func withoutBlock(text string, line int) (rest string, last int) {
	lines := strings.Split(text, "\n")
	outermost := func(i int) bool { return lines[i] != "" && !strings.ContainsRune(" \t\r#-]}", rune(lines[i][0])) }
	first := min(line, len(lines)) - 1
	for first > 0 && !outermost(first) {
		first--
	}
	last = first + 1
	for last < len(lines) && !outermost(last) {
		last++
	}
	for i := first; i < last; i++ {
		lines[i] = ""
	}
	return strings.Join(lines, "\n"), last
}
