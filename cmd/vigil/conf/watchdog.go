//go:build unix

package conf

import (
	"strings"

	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
)

// watchdogKeys are the settings of the conversation watchdog as the server's file names
// them below watchdog, and the environment with VIGIL_WATCHDOG_ before it.
func watchdogKeys() []string {
	return []string{"enabled", "interval", "threshold", "min_age", "start_delay", "grace", "max_cancellations",
		"untaken"}
}

// WatchdogEnv takes over what the environment says of the watchdog; it wins over the file.
func (f *Server) WatchdogEnv(getenv func(string) string) error {
	for _, key := range watchdogKeys() {
		name := "VIGIL_WATCHDOG_" + strings.ToUpper(key)
		text := getenv(name)
		if text == "" {
			continue
		}
		set := noun.DefaultSettings()
		if err := set.Set("watchdog_"+key, text); err != nil {
			return cli.Usagef("environment variable %s: %w", name, err)
		}
		if f.Watchdog == nil {
			f.Watchdog = map[string]textValue{}
		}
		f.Watchdog[key] = textValue{text: text}
	}
	return nil
}
