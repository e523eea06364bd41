package servers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// silentAfter is the silence from which a server counts as unheard by another, which tries it twice a second.
const silentAfter = 2 * time.Second

// figuresTable shows what servers say of their part in raft, and whom of the others each of them hears.
func figuresTable(list []*vigilv1.Server) *term.Table {
	t := term.NewTable("SERVER", "STATE", "TERM", "LAST", "BEHIND", "LOG", "SNAPSHOT", "COMMIT P50/P99", "DOES NOT HEAR~")
	committed := uint64(0)
	for _, s := range list {
		committed = max(committed, s.GetFigures().GetCommitIndex())
	}
	for _, s := range list {
		f := s.GetFigures()
		if f == nil || f.GetError() != "" {
			t.Add(s.GetId(), "unheard", "-", "-", "-", "-", "-", "-", f.GetError())
			continue
		}
		snapshot := "none"
		if f.GetSnapshotIndex() > 0 {
			snapshot = fmt.Sprintf("%d, %s", f.GetSnapshotIndex(), term.BytesText(int64(f.GetSnapshotBytes())))
		}
		t.Add(s.GetId(), f.GetState(), number(f.GetTerm()), number(f.GetLastIndex()),
			number(committed-min(committed, f.GetAppliedIndex())),
			fmt.Sprintf("%d, %s", f.GetLogEntries(), term.BytesText(int64(f.GetLogBytes()))), snapshot,
			commits(f), strings.Join(unheard(s.GetId(), list), ", "))
	}
	return t
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func commits(f *vigilv1.RaftFigures) string {
	if f.GetCommitP50() == nil {
		return "-"
	}
	return millis(f.GetCommitP50()) + "/" + millis(f.GetCommitP99()) + " ms"
}

func millis(d *durationpb.Duration) string {
	return strconv.FormatFloat(float64(d.AsDuration().Microseconds())/1000, 'f', 1, 64)
}

// unheard names the servers whose API does not answer the one with that id, with how long.
func unheard(id string, list []*vigilv1.Server) (out []string) {
	for _, s := range list {
		if s.GetId() != id {
			continue
		}
		for other, since := range s.GetFigures().GetHears() {
			if other != id && since.AsDuration() > silentAfter {
				out = append(out, other+" for "+term.Span(since))
			}
		}
	}
	slices.Sort(out)
	return out
}
