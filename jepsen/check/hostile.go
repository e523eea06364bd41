package check

import (
	"maps"
	"slices"
)

// hostile judges what hostile agents, hosts and strangers tried: each attempt has the codes with which it may
// be answered, and a success is none of them.
func hostile(t *trial, r *Result) {
	codes := map[string]int{}
	for _, f := range t.rec.Faults {
		for _, a := range f.Attempts {
			r.judged(a.Count)
			codes[a.Code] += a.Count
			if a.Wrong != "" {
				r.found(Finding{From: f.From, To: f.To}, "%s: %s: %d times %s", f.Kind, a.What, a.Count, a.Wrong)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		r.count("answered with "+code, codes[code])
	}
}
