package client

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/gen/vigilv1"
)

// Every request with a write id is numbered, Wait excepted.
func TestEveryRequestWithAWriteIDIsNumbered(t *testing.T) {
	seen := 0
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		fd := mt.Descriptor().Fields().ByName("id")
		if mt.Descriptor().ParentFile().Package() != "vigil.v1" || fd == nil || fd.Message() == nil ||
			fd.Message().Name() != "WriteId" {
			return true
		}
		seen++
		m := mt.New().Interface()
		if _, wait := m.(*vigilv1.WaitRequest); wait == wantsID(m) {
			t.Errorf("%s: wantsID gives %v", mt.Descriptor().Name(), wantsID(m))
		}
		id := &vigilv1.WriteId{Session: 1, Seq: 2}
		if setID(m.(identified), id); m.(identified).GetId() != id {
			t.Errorf("%s is not numbered", mt.Descriptor().Name())
		}
		return true
	})
	if seen < 13 {
		t.Errorf("saw only %d messages with an id", seen)
	}
}

// Every kind of write in a Batch is found.
func TestEveryOperationOfABatchIsFound(t *testing.T) {
	fields := (&vigilv1.Write{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		w := &vigilv1.Write{}
		w.ProtoReflect().Set(fields.Get(i), w.ProtoReflect().NewField(fields.Get(i)))
		if operation(w) == nil {
			t.Errorf("%s is not numbered", fields.Get(i).Name())
		}
	}
}

// While a number has no answer, no more than 63 other writes of its session can be
// carried out after it, whatever their order: the cluster keeps 64 answers.
func TestWindowKeepsEveryUnansweredNumberAnswerable(t *testing.T) {
	if (window-1)*2+1 > 64 {
		t.Errorf("window %d is too wide for 64 answers", window)
	}
}
