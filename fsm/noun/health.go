package noun

import (
	"fmt"
	"time"
)

// HealthPreset is a named pair of how often agents report their health and how many
// reports in a row may be missing.
type HealthPreset struct {
	Name   string
	Every  time.Duration
	Missed uint32
}

// HealthPresets are the names that a role may give for how often its agents report.
func HealthPresets() []HealthPreset {
	return []HealthPreset{
		{"critical", 30 * time.Second, 2},
		{"active", time.Minute, 3},
		{"background", 5 * time.Minute, 3},
		{"standby", 15 * time.Minute, 5},
	}
}

func CheckHealth(r *RoleSpec) error {
	switch {
	case r.HealthEvery == 0 && r.HealthMissed == 0:
		return nil
	case r.HealthEvery < minHealthEvery || r.HealthEvery > maxHealthEvery:
		return fmt.Errorf("health: every %s is out of range, %s to %s is allowed", r.HealthEvery, minHealthEvery,
			maxHealthEvery)
	case r.HealthMissed < 1 || r.HealthMissed > maxHealthMissed:
		return fmt.Errorf("health: %d missed reports are out of range, 1 to %d are allowed", r.HealthMissed,
			maxHealthMissed)
	}
	return nil
}

// Bounds of health reports: a report is a write to the log.
const (
	minHealthEvery  = time.Second
	maxHealthEvery  = 24 * time.Hour
	maxHealthMissed = 1000
)
