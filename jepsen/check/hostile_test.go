package check

import "vigil/jepsen/history"

func hostileCases() []trialCase {
	tried := func(list ...history.Attempts) *book {
		b := newBook()
		b.rec.Faults = append(b.rec.Faults, history.Fault{Kind: "host_forges_reports", Lane: "hostile-host", From: 10 * ms,
			To: 20 * ms, Attempts: list})
		return b
	}
	refused := history.Attempts{What: "host: forged report of exit", Code: "denied", Count: 4}
	taken := history.Attempts{What: "host: forged report of exit", Code: "ok", Count: 1,
		Wrong: "answered with ok, want denied"}
	return []trialCase{
		{"hostile", "all is refused", tried(refused), Kept, ""},
		{"hostile", "one is taken", tried(refused, taken), Broken, "1 times answered with ok"},
	}
}
