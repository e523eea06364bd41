package jsonform

import (
	"encoding/json"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Append writes a message behind b, as one line. It fails where a value of a well-known type is
// outside of its range.
func Append(b []byte, m protoreflect.Message) ([]byte, error) {
	if m.Descriptor().ParentFile().Package() == "google.protobuf" {
		return protojson.MarshalOptions{}.MarshalAppend(b, m.Interface())
	}
	b = append(b, '{')
	first := len(b)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) && absent(f) {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, f.TextName()), ':')
		var err error
		if b, err = appendField(b, f, m.Get(f)); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// absent tells whether a field that is not set is left out.
func absent(f protoreflect.FieldDescriptor) bool {
	switch f.Kind() {
	case protoreflect.BoolKind, protoreflect.Int32Kind, protoreflect.Uint32Kind:
		return f.HasPresence()
	}
	return !f.IsList() && !f.IsMap()
}

func appendField(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) (_ []byte, err error) {
	switch {
	case f.IsList():
		b = append(b, '[')
		for i := range v.List().Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, f, v.List().Get(i)); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case f.IsMap():
		var keys []string
		v.Map().Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
			keys = append(keys, k.String())
			return true
		})
		slices.Sort(keys)
		b = append(b, '{')
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendText(b, k); err != nil {
				return nil, err
			}
			b = append(b, ':')
			b, err = appendValue(b, f.MapValue(), v.Map().Get(protoreflect.ValueOfString(k).MapKey()))
			if err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return appendValue(b, f, v)
}

func appendValue(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return Append(b, v.Message())
	case protoreflect.EnumKind:
		if known := f.Enum().Values().ByNumber(v.Enum()); known != nil {
			return strconv.AppendQuote(b, string(known.Name())), nil
		}
		return strconv.AppendInt(b, int64(v.Enum()), 10), nil
	case protoreflect.Int64Kind, protoreflect.Uint64Kind: // a double of other languages does not hold them
		return strconv.AppendQuote(b, v.String()), nil
	case protoreflect.StringKind:
		return appendText(b, v.String())
	default: // bytes as base64
		text, err := json.Marshal(v.Interface())
		return append(b, text...), err
	}
}

func appendText(b []byte, s string) ([]byte, error) {
	text, err := json.Marshal(s)
	return append(b, text...), err
}
