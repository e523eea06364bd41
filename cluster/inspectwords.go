package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"vigil/fsm/noun"
)

// names are the fields whose words name things, and are shown always; all other words are texts of people and
// agents, or settings.
var names = []string{"Admin", "Agent", "Boot", "By", "Cluster", "From", "Host", "ID", "Kind",
	"Method", "Name", "Role", "Room", "Server", "Servers", "Signal", "Standbys", "Sum", "To", "ToRole",
	"Version", "Voters", "What", "Who"}

// secret are parts of the names of fields that are never shown: what they hold lets
// somebody in, or proves that it does.
var secret = []string{"Secret", "Token", "Hash", "Key", "Cert", "Env", "Password"}

// shownItems are how many items of a list are shown.
const shownItems = 8

// Words says what a value holds, in one line: the fields that are not zero. Words that do not name things are
// shown with texts only, else how long they are; what is secret never is. All of it is quoted where it could
// disturb a terminal.
func Words(v any, texts bool) string { return strings.Join(fieldsOf(reflect.ValueOf(v), texts), " ") }

// fieldsOf gives Name=value for each field that is not zero.
func fieldsOf(v reflect.Value, texts bool) (list []string) {
	t := v.Type()
	if v.Kind() != reflect.Struct {
		return []string{worded(v, "", texts)}
	}
	for i := range v.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported() || v.Field(i).IsZero():
		case f.Anonymous && v.Field(i).Kind() == reflect.Struct:
			list = append(list, fieldsOf(v.Field(i), texts)...)
		default:
			list = append(list, f.Name+"="+worded(v.Field(i), f.Name, texts))
		}
	}
	return list
}

func worded(v reflect.Value, name string, texts bool) string {
	hidden := slices.ContainsFunc(secret, func(part string) bool { return strings.Contains(name, part) })
	if k := v.Kind(); hidden && (k == reflect.String || k == reflect.Slice || k == reflect.Array || k == reflect.Map) {
		return "<hidden>"
	}
	switch v.Kind() {
	case reflect.Struct:
		return "{" + strings.Join(fieldsOf(v, texts), " ") + "}"
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "none"
		}
		return worded(v.Elem(), name, texts)
	case reflect.Slice, reflect.Array:
		return itemsOf(v, name, texts)
	case reflect.Map:
		return fmt.Sprintf("<%d items>", v.Len())
	case reflect.String:
		switch s := v.String(); {
		case !texts && !slices.Contains(names, name):
			return fmt.Sprintf("<%d bytes>", len(s))
		case s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
			return strconv.QuoteToASCII(s)
		default:
			return s
		}
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case noun.Wall:
			return strings.ReplaceAll(x.Text(), " ", "_")
		case noun.Time:
			return x.Sub(0).String()
		default: // with its own words, if it has some
			return fmt.Sprint(x)
		}
	}
	return fmt.Sprint(v)
}

func itemsOf(v reflect.Value, name string, texts bool) string {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Sprintf("<%d bytes>", v.Len())
	}
	var items []string
	for i := range min(v.Len(), shownItems) {
		items = append(items, worded(v.Index(i), name, texts))
	}
	if more := v.Len() - shownItems; more > 0 {
		items = append(items, fmt.Sprintf("and %d more", more))
	}
	return "[" + strings.Join(items, " ") + "]"
}
