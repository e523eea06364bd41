package form

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// Every field of a role comes back as it went out: one that either direction forgets, or takes for
// another, would be lost between who declares a room and who reads it.
func TestRoleSpecGoesBothWays(t *testing.T) {
	var spec noun.RoleSpec
	fillFields(t, reflect.ValueOf(&spec).Elem())
	var c Checks
	if got := c.RoleSpec(0, RoleSpec(&spec)); c.Err != nil || !reflect.DeepEqual(got, spec) {
		t.Errorf("%+v\nbecame\n%+v, %v", spec, got, c.Err)
	}
}

// fillFields gives each field of a struct a value of its own, words the second that there is.
func fillFields(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		switch kind := f.Kind(); {
		case f.Type() == reflect.TypeFor[time.Duration]():
			f.SetInt(int64(i+1) * int64(time.Second))
		case kind == reflect.String:
			f.SetString(fmt.Sprintf("f%d", i))
		case kind == reflect.Uint8:
			f.SetUint(1)
		case kind == reflect.Uint32, kind == reflect.Uint64:
			f.SetUint(uint64(i + 1))
		case kind == reflect.Bool:
			f.SetBool(true)
		case kind == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			fillFields(t, f.Index(0))
		default:
			t.Fatalf("%s is of a kind that this test does not know", v.Type().Field(i).Name)
		}
	}
}
