package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// The snapshot's values are written field by field in the order of declaration:
// numbers as varints, strings and slices with their length before them, pointers
// with a flag. Every type is preceded once by its number of fields, so a newer
// server reads an older dump: fields that were added since, at the end of a type,
// are zero. The plan of a type is made once by reflection; values are then read
// and written through offsets, which is as fast as code written by hand and
// cannot forget a field.

var errShort = errors.New("ends in the middle of a value")

// plan reads and writes the values of one type at an address.
type plan struct {
	put func(dst []byte, at unsafe.Pointer) []byte
	get func(src []byte, at unsafe.Pointer) ([]byte, error)
	min int // bytes that a value takes at least; guards against absurd lengths
}

// planner makes plans; it is used by one goroutine.
type planner struct {
	// fields tells how many fields of a struct type the dump has; nil: all.
	fields func(t reflect.Type) int
}

func (p planner) of(t reflect.Type) plan {
	switch t.Kind() {
	case reflect.Bool:
		return planBool()
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return planUint(t.Size())
	case reflect.Int32, reflect.Int64:
		return planInt(t.Size())
	case reflect.String:
		return plan{
			min: 1,
			put: func(dst []byte, at unsafe.Pointer) []byte { return putString(dst, *(*string)(at)) },
			get: func(src []byte, at unsafe.Pointer) ([]byte, error) {
				s, src, err := getString(src)
				*(*string)(at) = s
				return src, err
			},
		}
	case reflect.Slice:
		return p.slice(t)
	case reflect.Pointer:
		return p.pointer(t)
	case reflect.Struct:
		return p.structure(t)
	}
	panic("image: no plan for " + t.String())
}

func planBool() plan {
	p := planUint(1)
	p.get = func(src []byte, at unsafe.Pointer) ([]byte, error) {
		if len(src) == 0 || src[0] > 1 {
			return nil, errShort
		}
		*(*bool)(at) = src[0] == 1
		return src[1:], nil
	}
	return p
}

func planUint(size uintptr) plan {
	load := func(at unsafe.Pointer) uint64 {
		switch size {
		case 1:
			return uint64(*(*uint8)(at))
		case 2:
			return uint64(*(*uint16)(at))
		case 4:
			return uint64(*(*uint32)(at))
		}
		return *(*uint64)(at)
	}
	return plan{
		min: 1,
		put: func(dst []byte, at unsafe.Pointer) []byte { return binary.AppendUvarint(dst, load(at)) },
		get: func(src []byte, at unsafe.Pointer) ([]byte, error) {
			v, n := binary.Uvarint(src)
			if n <= 0 {
				return nil, errShort
			}
			if size < 8 && v>>(8*size) != 0 {
				return nil, fmt.Errorf("number %d does not fit into %d bytes", v, size)
			}
			switch size {
			case 1:
				*(*uint8)(at) = uint8(v)
			case 2:
				*(*uint16)(at) = uint16(v)
			case 4:
				*(*uint32)(at) = uint32(v)
			default:
				*(*uint64)(at) = v
			}
			return src[n:], nil
		},
	}
}

func planInt(size uintptr) plan {
	return plan{
		min: 1,
		put: func(dst []byte, at unsafe.Pointer) []byte {
			if size == 4 {
				return binary.AppendVarint(dst, int64(*(*int32)(at)))
			}
			return binary.AppendVarint(dst, *(*int64)(at))
		},
		get: func(src []byte, at unsafe.Pointer) ([]byte, error) {
			v, n := binary.Varint(src)
			if n <= 0 {
				return nil, errShort
			}
			if size == 4 {
				if int64(int32(v)) != v {
					return nil, fmt.Errorf("number %d does not fit into 4 bytes", v)
				}
				*(*int32)(at) = int32(v)
			} else {
				*(*int64)(at) = v
			}
			return src[n:], nil
		},
	}
}

func (p planner) slice(t reflect.Type) plan {
	elem, size := p.of(t.Elem()), t.Elem().Size()
	type header struct {
		data     unsafe.Pointer
		len, cap int
	}
	return plan{
		min: 1,
		put: func(dst []byte, at unsafe.Pointer) []byte {
			h := (*header)(at)
			dst = binary.AppendUvarint(dst, uint64(h.len))
			for i := range h.len {
				dst = elem.put(dst, unsafe.Add(h.data, uintptr(i)*size))
			}
			return dst
		},
		get: func(src []byte, at unsafe.Pointer) ([]byte, error) {
			n, k := binary.Uvarint(src)
			if k <= 0 || n > uint64(len(src)-k)/uint64(max(elem.min, 1)) {
				return nil, errShort
			}
			src = src[k:]
			if n == 0 {
				return src, nil
			}
			s := reflect.MakeSlice(t, int(n), int(n))
			var err error
			for i := range int(n) {
				if src, err = elem.get(src, s.Index(i).Addr().UnsafePointer()); err != nil {
					return nil, err
				}
			}
			reflect.NewAt(t, at).Elem().Set(s)
			return src, nil
		},
	}
}

func (p planner) pointer(t reflect.Type) plan {
	elem := p.of(t.Elem())
	return plan{
		min: 1,
		put: func(dst []byte, at unsafe.Pointer) []byte {
			to := *(*unsafe.Pointer)(at)
			if to == nil {
				return append(dst, 0)
			}
			return elem.put(append(dst, 1), to)
		},
		get: func(src []byte, at unsafe.Pointer) ([]byte, error) {
			if len(src) == 0 {
				return nil, errShort
			}
			if src[0] == 0 {
				return src[1:], nil
			}
			if src[0] != 1 {
				return nil, fmt.Errorf("flag %d", src[0])
			}
			v := reflect.New(t.Elem())
			src, err := elem.get(src[1:], v.UnsafePointer())
			reflect.NewAt(t, at).Elem().Set(v)
			return src, err
		},
	}
}

func (p planner) structure(t reflect.Type) plan {
	type field struct {
		plan
		off uintptr
	}
	n := t.NumField()
	if p.fields != nil {
		n = p.fields(t)
	}
	var fields []field
	least := 0
	for i := range n {
		if f := t.Field(i); f.IsExported() {
			fields = append(fields, field{p.of(f.Type), f.Offset})
			least += fields[len(fields)-1].min
		}
	}
	return plan{
		min: least,
		put: func(dst []byte, at unsafe.Pointer) []byte {
			for i := range fields {
				dst = fields[i].put(dst, unsafe.Add(at, fields[i].off))
			}
			return dst
		},
		get: func(src []byte, at unsafe.Pointer) (_ []byte, err error) {
			for i := range fields {
				if src, err = fields[i].get(src, unsafe.Add(at, fields[i].off)); err != nil {
					return nil, fmt.Errorf("%s.%s: %w", t.Name(), t.Field(i).Name, err)
				}
			}
			return src, nil
		},
	}
}

func putString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func getString(src []byte) (string, []byte, error) {
	n, k := binary.Uvarint(src)
	if k <= 0 || n > uint64(len(src)-k) {
		return "", nil, errShort
	}
	return string(src[k : k+int(n)]), src[k+int(n):], nil
}
