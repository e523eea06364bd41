package main

import (
	"strings"
)

// width is how long a line of text becomes, its indent included.
const width = 100

// wrapped gives the words of a text in lines of at most width, each behind its lead.
func wrapped(text, lead string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(lead)+len(line)+1+len(word) > width {
			lines = append(lines, lead+line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, lead+line)
	}
	return lines
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") {
		return text
	}
	return text + "."
}

// class is the name of the class of a code: not_found is NotFound.
func class(code string) string {
	var b strings.Builder
	for _, part := range strings.Split(code, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
