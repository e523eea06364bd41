package door

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/fault"
)

// The libraries that read bodies and parameters speak of Go's types and functions. What people read
// names the place, what stands there, and what belongs there.

// mostTakes is how long a list of fields in an error may be; the fields within fields are left out
// of a longer one.
const mostTakes = 300

var (
	bodyPlace    = regexp.MustCompile(`^(?:syntax error )?\(line (\d+:\d+)\): (.*)$`)
	bodyUnknown  = regexp.MustCompile(`^unknown field (".*")$`)
	bodyTwice    = regexp.MustCompile(`^duplicate field (".*")$`)
	bodyValue    = regexp.MustCompile(`^invalid value for \w+ (?:field|type|value) (\w+): (.*)$`)
	bodyWell     = regexp.MustCompile(`^invalid google\.protobuf\.(Duration|Timestamp) value (".*")$`)
	queryPlace   = regexp.MustCompile(`^parsing (?:field|list|map) "([^"]+)": `)
	unexpected   = regexp.MustCompile(`^unexpected token (.*)$`)
	invalidThing = regexp.MustCompile(`^invalid value (.*)$`)
)

// bodyFault says what is wrong with a body for a request of this type; text is what the library says.
func bodyFault(text string, request protoreflect.MessageDescriptor) string {
	place := ""
	if m := bodyPlace.FindStringSubmatch(text); m != nil {
		place, text = "line "+m[1]+": ", m[2]
	}
	switch {
	case strings.Contains(text, "unexpected EOF"):
		return place + "it ends before its JSON does; was something cut off?"
	case bodyUnknown.MatchString(text):
		return place + "there is no field " + bodyUnknown.FindStringSubmatch(text)[1] + " there; the call takes " +
			takes(request)
	case bodyTwice.MatchString(text):
		return place + "the field " + bodyTwice.FindStringSubmatch(text)[1] + " stands there twice; leave one out"
	case bodyWell.MatchString(text):
		m := bodyWell.FindStringSubmatch(text)
		return place + notWell(m[1], m[2])
	case bodyValue.MatchString(text):
		m := bodyValue.FindStringSubmatch(text)
		return place + m[1] + " is " + m[2] + "; give " + valueOf(fieldWithin(request, m[1], 0))
	case unexpected.MatchString(text):
		return place + "it is no JSON object that the call takes: " + unexpected.FindStringSubmatch(text)[1] +
			" stands there; the call takes " + takes(request)
	case invalidThing.MatchString(text):
		return place + "it is no JSON: " + invalidThing.FindStringSubmatch(text)[1] + " stands there"
	}
	return place + text
}

// notWell says what a duration or a time must look like; value is quoted.
func notWell(kind, value string) string {
	if kind == "Timestamp" {
		return value + ` is not a time; write RFC 3339, for instance "2026-01-31T15:00:00Z"`
	}
	example := "90s"
	if d, err := time.ParseDuration(strings.Trim(value, `"`)); err == nil {
		example = fmt.Sprintf("%gs", d.Seconds())
	}
	return fmt.Sprintf("%s is not a duration; write seconds, for instance %q", value, example)
}

// takes lists the fields of a request, and in brackets those of the messages in it.
func takes(request protoreflect.MessageDescriptor) string {
	var short, long []string
	for i := range request.Fields().Len() {
		f := request.Fields().Get(i)
		name := f.TextName()
		short = append(short, name)
		if inner := f.Message(); inner != nil && !f.IsMap() && !wellKnown(inner) {
			var names []string
			for k := range inner.Fields().Len() {
				names = append(names, inner.Fields().Get(k).TextName())
			}
			name += " (" + strings.Join(names, ", ") + ")"
		}
		long = append(long, name)
	}
	if len(short) == 0 {
		return "none"
	}
	if text := strings.Join(long, ", "); len(text) <= mostTakes {
		return text
	}
	return strings.Join(short, ", ") + "; /openapi.json has the fields within"
}

func wellKnown(m protoreflect.MessageDescriptor) bool {
	return m.ParentFile().Package() == "google.protobuf"
}

// fieldWithin finds a field of this name in a request or in the messages in it; nil: there is none.
func fieldWithin(m protoreflect.MessageDescriptor, name string, depth int) protoreflect.FieldDescriptor {
	if f := m.Fields().ByJSONName(name); f != nil {
		return f
	}
	if f := m.Fields().ByTextName(name); f != nil {
		return f
	}
	for i := range m.Fields().Len() {
		if inner := m.Fields().Get(i).Message(); inner != nil && depth < 3 {
			if f := fieldWithin(inner, name, depth+1); f != nil {
				return f
			}
		}
	}
	return nil
}

// valueOf says what a field takes; nil is a field that nobody found.
func valueOf(f protoreflect.FieldDescriptor) string {
	if f == nil {
		return "what /openapi.json shows"
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind, protoreflect.BytesKind:
		return "a text in quotes"
	case protoreflect.EnumKind:
		var names []string
		for i := range f.Enum().Values().Len() {
			if v := f.Enum().Values().Get(i); v.Number() != 0 {
				names = append(names, string(v.Name()))
			}
		}
		return strings.Join(names, ", ")
	case protoreflect.MessageKind:
		if f.Message().Name() == "Duration" {
			return `seconds, for instance "90s"`
		}
		return "what /openapi.json shows"
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return "a whole number that is not negative"
	default:
		return "a whole number"
	}
}

// queryFault says which parameter has a value that does not fit; text is what the library says.
func queryFault(text string, request protoreflect.MessageDescriptor, values map[string][]string) string {
	m := queryPlace.FindStringSubmatch(text)
	if m == nil {
		return queryWrong + "values do not fit; /openapi.json shows what the call takes."
	}
	f, in := protoreflect.FieldDescriptor(nil), request
	for name := range strings.SplitSeq(m[1], ".") {
		if f = fieldWithin(in, name, 3); f == nil || f.Message() == nil {
			break
		}
		in = f.Message()
	}
	is := ""
	for name, list := range values {
		if strings.TrimSuffix(name, "[]") == m[1] && len(list) > 0 {
			is = " is " + fault.Quote(strings.Join(list, ","))
		}
	}
	return fmt.Sprintf(queryWrong+"%s%s; give %s.", m[1], is, valueOf(f))
}
