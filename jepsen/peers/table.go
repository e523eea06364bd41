package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sides are the figures of one row: one of each round, in pairs.
type sides struct {
	row
	peers, vigils []float64
}

// ratios gives vigil's figure divided by the peer's, of each pair; for a quoted figure of both its bounds.
func (s *sides) ratios() []float64 {
	var list []float64
	for i, v := range s.vigils {
		if s.quoted[0] == 0 {
			list = append(list, v/s.peers[i])
			continue
		}
		list = append(list, v/s.quoted[0], v/s.quoted[1])
	}
	return list
}

// met tells whether the median is what is aimed at.
func (s *sides) met() bool {
	ratio := median(s.ratios())
	return (s.aim.atMost == 0 || ratio <= s.aim.atMost) && (s.aim.atLeast == 0 || ratio >= s.aim.atLeast) &&
		(s.aim.figure == 0 || median(s.vigils) <= s.aim.figure)
}

// verdict is the last column.
func (s *sides) verdict() string {
	var aims []string
	if s.aim.atMost != 0 {
		aims = append(aims, "at most "+digits(s.aim.atMost))
	}
	if s.aim.atLeast != 0 {
		aims = append(aims, "at least "+digits(s.aim.atLeast))
	}
	if s.aim.figure != 0 {
		aims = append(aims, "at most "+s.unit.show(s.aim.figure))
	}
	switch {
	case len(aims) == 0:
		return "none set"
	case s.met():
		return strings.Join(aims, ", ") + ": met"
	default:
		return strings.Join(aims, ", ") + ": **missed**"
	}
}

// peerFigure is the peer's column.
func (s *sides) peerFigure() string {
	if s.quoted[0] != 0 {
		return s.unit.show(s.quoted[0]) + " to " + s.unit.show(s.quoted[1]) + ", quoted"
	}
	return s.unit.show(median(s.peers))
}

// writeRounds writes the figures of each pair.
func writeRounds(w io.Writer, all []*sides) error {
	rounds := 0
	for _, s := range all {
		rounds = max(rounds, len(s.vigils))
	}
	head, line := "| Figure |", "|---|"
	for i := range rounds {
		head += fmt.Sprintf(" Round %d: peer, vigil |", i+1)
		line += "---|"
	}
	text := head + "\n" + line + "\n"
	for _, s := range all {
		text += "| " + s.what + " |"
		for i, v := range s.vigils {
			if s.quoted[0] == 0 {
				text += " " + s.unit.show(s.peers[i]) + ","
			}
			text += " " + s.unit.show(v) + " |"
		}
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// writeRatios writes the last table.
func writeRatios(w io.Writer, all []*sides) error {
	text := "| Figure | Peer | vigil | What differs | Ratio (least to greatest) | Aim |\n|---|---|---|---|---|---|\n"
	for _, s := range all {
		r := s.ratios()
		text += fmt.Sprintf("| %s | %s | %s | %s | %s (%s to %s) | %s |\n", s.what, s.peerFigure(),
			s.unit.show(median(s.vigils)), s.differs, digits(median(r)), digits(slices.Min(r)), digits(slices.Max(r)),
			s.verdict())
	}
	_, err := io.WriteString(w, text)
	return err
}

// show writes a figure with its unit and as many digits as mean something.
func (u unit) show(v float64) string {
	switch {
	case u == perSecond:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64)) + "/s"
	case u == microseconds:
		return digits(v) + " us"
	case v >= 1000:
		return digits(v/1000) + " s"
	}
	return digits(v) + " ms"
}

// digits writes three digits, or all before the point.
func digits(v float64) string {
	v = math.Round(v*100) / 100 // 99.9999 has three digits before the point
	after := 0
	switch {
	case v < 10:
		after = 2
	case v < 100:
		after = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', after, 64), ".00")
}

// thousands groups the digits of a whole number that is not negative.
func thousands(text string) string {
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
