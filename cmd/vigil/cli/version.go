package cli

import (
	"cmp"
	"runtime/debug"
)

// What `make dist` links in; empty in every other build, which asks the compiler's record.
var release, commit, date string

// Version is that of the release, the module's version, or the commit that the program was built from.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	text := "devel"
	if c := Commit(); c != "" {
		text += "-" + c
	}
	if setting("vcs.modified") == "true" {
		text += "-dirty"
	}
	return text
}

// Commit is the first twelve digits of the commit that this program was built from; "" when the build did
// not know.
func Commit() string {
	all := cmp.Or(commit, setting("vcs.revision"))
	return all[:min(len(all), 12)]
}

// Date is the time of that commit (RFC 3339, UTC); "" when the build did not know.
func Date() string { return cmp.Or(date, setting("vcs.time")) }

// setting is one that the compiler has recorded; "" when there is none of that name.
func setting(name string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == name {
			return s.Value
		}
	}
	return ""
}
