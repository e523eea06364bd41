package hostfaults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vigil/jepsen/ledger"
)

// Result is what a run has found. It passes when Broken is empty.
type Result struct {
	Seed    uint64         `json:"seed"`
	Faults  int            `json:"faults"`
	Seconds float64        `json:"seconds"`
	TTL     float64        `json:"ttl_s"`
	Kinds   map[string]int `json:"faults_by_kind"`
	// Phases counts what the struck agent, or host, was doing.
	Phases map[string]int `json:"faults_by_phase"`
	// Events counts what the cluster's history says, as far as it was read.
	Events map[string]int `json:"events"`

	Lives     int `json:"lives"`
	Ticks     int `json:"ticks"`
	Freezes   int `json:"freezes"`
	Exits     int `json:"exits"`
	Words     int `json:"words"`
	Tasks     int `json:"tasks_created"`
	Completed int `json:"tasks_completed"`

	Overlaps int `json:"overlaps"`
	Late     int `json:"late_lives"`
	Doubles  int `json:"double_starts"`
	Spoken   int `json:"words_of_older_lives"`
	Twice    int `json:"tasks_completed_twice"`
	Missing  int `json:"starts_missing"`
	Replaced int `json:"lives_ended_by_outages"`
	Daemons  int `json:"second_daemons_let_in"`

	Excused       int     `json:"excused"`
	LongestMs     float64 `json:"longest_excused_ms"`
	SlowestReturn float64 `json:"slowest_return_s"`

	Evidence []string `json:"evidence,omitempty"`

	slowest time.Duration
}

func newResult(c Config) *Result {
	return &Result{Seed: c.Seed, TTL: c.TTL.Seconds(), Kinds: map[string]int{}, Phases: map[string]int{}, Events: map[string]int{}}
}

// count books one fault.
func (r *Result) count(kind, phase string) {
	r.Faults++
	r.Kinds[kind]++
	r.Phases[phase]++
}

// take adds what the ledger showed.
func (r *Result) take(v *ledger.Verdict) {
	r.Lives, r.Ticks, r.Freezes, r.Exits, r.Words, r.Completed = v.Lives, v.Ticks, v.Freezes, v.Exits, v.Words, v.Completed
	r.Overlaps, r.Late, r.Doubles, r.Spoken, r.Twice = len(v.Overlaps), len(v.Late), len(v.Doubles), len(v.Spoken), len(v.Twice)
	r.Excused, r.LongestMs = v.Excused, float64(v.Longest.Microseconds())/1000
	r.SlowestReturn = r.slowest.Seconds()
	for _, f := range v.Broken() {
		r.Evidence = append(r.Evidence, f.String())
	}
}

// Broken counts broken promises.
func (r *Result) Broken() int {
	return r.Overlaps + r.Late + r.Doubles + r.Spoken + r.Twice + r.Missing + r.Replaced + r.Daemons
}

// Summary is one line.
func (r *Result) Summary() string {
	return fmt.Sprintf("seed %d: %d faults in %.0f s on %d lives (%d freezes): %d overlaps, %d late, %d double starts, %d words of older lives, "+
		"%d tasks completed twice, %d starts missing, %d lives ended by outages; %d excused (longest %.0f ms), slowest return %.1f s",
		r.Seed, r.Faults, r.Seconds, r.Lives, r.Freezes, r.Overlaps, r.Late, r.Doubles, r.Spoken, r.Twice, r.Missing, r.Replaced,
		r.Excused, r.LongestMs, r.SlowestReturn)
}

// Write puts result.json and summary.txt into a folder.
func (r *Result) Write(folder string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	for name, text := range map[string]string{"result.json": string(text), "summary.txt": r.Summary()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o644); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	return nil
}
