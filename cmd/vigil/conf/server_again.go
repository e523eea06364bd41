//go:build unix

package conf

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// taken are the keys that a server takes again while it runs, founding those that count only when a cluster is
// founded.
var (
	taken    = []string{"log_level", "notify"}
	founding = []string{"settings", "watchdog", "found", "cluster"}
)

// Again compares a configuration that was read again with the one under which the server runs: the keys that it
// takes now, those that need a restart, and those that only a new cluster reads. Each list is sorted.
func (f *Server) Again(next *Server) (now, restart, founded []string) {
	next.identified = f.identified
	was, is := reflect.ValueOf(*f), reflect.ValueOf(*next)
	for i := range was.NumField() {
		key, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case key == "" || alike(was.Field(i), is.Field(i)):
		case slices.Contains(taken, key):
			now = append(now, key)
		case slices.Contains(founding, key):
			founded = append(founded, key)
		default:
			restart = append(restart, key)
		}
	}
	slices.Sort(now)
	slices.Sort(restart)
	slices.Sort(founded)
	return now, restart, founded
}

// alike compares values, not where they stand in their files.
func alike(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if t := a.Type().Field(i).Type; t == reflect.TypeFor[*token.Token]() || t.Kind() == reflect.Func {
				continue
			}
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		return a.IsNil() && b.IsNil() || !a.IsNil() && !b.IsNil() && alike(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if v := b.MapIndex(k); !v.IsValid() || !alike(a.MapIndex(k), v) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
