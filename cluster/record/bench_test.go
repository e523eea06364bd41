package record

import (
	"testing"

	"vigil/fsm"
	"vigil/fsm/noun"
)

func benchEntry(n int) *fsm.Entry {
	e := &fsm.Entry{Stint: 3, Stamp: 5e12, Wall: 1.7e18}
	for i := range n {
		e.Requests = append(e.Requests, fsm.Request{Session: 12, Seq: uint64(i), Cmd: fsm.StartTask{Work: fsm.Work{
			Speaker: fsm.Speaker{Agent: "room-1/builder.12", Inc: 4, TokenHash: make([]byte, 32)},
			Task:    noun.TaskID(1000 + i), Attempt: 1}}})
	}
	return e
}

func BenchmarkEncode(b *testing.B) {
	e := benchEntry(1000)
	var enc Encoder
	for b.Loop() {
		enc.Reset()
		for i := range e.Requests {
			if err := enc.Request(&e.Requests[i]); err != nil {
				b.Fatal(err)
			}
		}
		enc.Seal(e.Stint, e.Stamp, e.Wall)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/command")
}

func BenchmarkDecode(b *testing.B) {
	data, err := Encode(benchEntry(1000))
	if err != nil {
		b.Fatal(err)
	}
	var e fsm.Entry
	b.ReportAllocs()
	for b.Loop() {
		if err := Decode(data, &e); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/command")
}
