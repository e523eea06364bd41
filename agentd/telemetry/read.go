package telemetry

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"strconv"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// measure says what a metric means.
type measure struct {
	source source
	by     string           // the attribute that tells which field, or which tool
	fields map[string]field // by its value; nil: all of it is one
	field  field
}

var measures = map[string]measure{
	"claude_code.token.usage": {source: claudeCode, by: "type", fields: map[string]field{"input": fieldInput,
		"cacheCreation": fieldInput, "output": fieldOutput, "cacheRead": fieldCache}},
	"claude_code.cost.usage": {source: claudeCode, field: fieldCost},
	"gemini_cli.token.usage": {source: geminiCLI, by: "type", fields: map[string]field{"input": fieldInput,
		"tool": fieldInput, "output": fieldOutput, "thought": fieldOutput, "cache": fieldCache}},
	"gemini_cli.tool.call.count": {source: geminiCLI, by: "function_name", field: fieldTool},
	"vigil.usage.tokens": {source: sdk, by: "type", fields: map[string]field{"input": fieldInput,
		"output": fieldOutput, "cache": fieldCache}},
	"vigil.usage.cost": {source: sdk, field: fieldCost},
	"gen_ai.client.token.usage": {source: conventions, by: "gen_ai.token.type", fields: map[string]field{
		"input": fieldInput, "output": fieldOutput}},
}

// point is one number of a metric.
type point struct {
	attributes []*common.KeyValue
	start      uint64
	value      float64
}

// metrics counts what a message of metrics says. It gives how many points were left out because there are
// too many of them, of their attributes, or of their series.
func (m *meter) metrics(message *colmetrics.ExportMetricsServiceRequest) (left int) {
	most := maxPoints
	for _, r := range message.GetResourceMetrics() {
		attributes := r.GetResource().GetAttributes()
		tooMany := len(attributes) > maxAttributes
		var resource [sha256.Size]byte
		if !tooMany {
			resource = resourceOf(attributes) // once: there may be thousands of points
		}
		for _, scope := range r.GetScopeMetrics() {
			for _, one := range scope.GetMetrics() {
				what, known := measures[one.GetName()]
				if !known {
					continue
				}
				points, over, cumulative := pointsOf(one, most)
				most -= len(points)
				left += over
				for _, p := range points {
					if tooMany || len(p.attributes) > maxAttributes || !m.point(resource, one.GetName(), what, p, cumulative) {
						left++
					}
				}
			}
		}
	}
	return left
}

// point counts one point; false when it belongs to one series too many.
func (m *meter) point(resource [sha256.Size]byte, name string, what measure, p point, cumulative bool) bool {
	if !(p.value >= 0) || p.value > maxPoint { // none of the comparisons holds for what is no number
		return true
	}
	f, by := what.field, textOf(find(p.attributes, what.by))
	if what.fields != nil {
		var known bool
		if f, known = what.fields[by]; !known {
			return true
		}
	}
	if cumulative {
		var ok bool
		if p.value, ok = m.grown(seriesOf(resource, name, p), p.value, p.start); !ok {
			return false
		}
	}
	m.add(what.source, f, ToolOf(by), p.value)
	return true
}

// pointsOf gives the first numbers of a counter or a histogram, and how many more there are; others mean
// nothing here.
func pointsOf(one *metrics.Metric, most int) (points []point, over int, cumulative bool) {
	var how metrics.AggregationTemporality
	switch {
	case one.GetSum() != nil:
		how = one.GetSum().GetAggregationTemporality()
		if !one.GetSum().GetIsMonotonic() {
			return nil, 0, false
		}
		all := one.GetSum().GetDataPoints()
		most = min(most, len(all))
		over = len(all) - most
		for _, p := range all[:most] {
			value := p.GetAsDouble()
			if v, ok := p.GetValue().(*metrics.NumberDataPoint_AsInt); ok {
				value = float64(v.AsInt)
			}
			points = append(points, point{p.GetAttributes(), p.GetStartTimeUnixNano(), value})
		}
	case one.GetHistogram() != nil:
		how = one.GetHistogram().GetAggregationTemporality()
		all := one.GetHistogram().GetDataPoints()
		most = min(most, len(all))
		over = len(all) - most
		for _, p := range all[:most] {
			points = append(points, point{p.GetAttributes(), p.GetStartTimeUnixNano(), p.GetSum()})
		}
	}
	switch how {
	case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA:
		return points, over, false
	case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE:
		return points, over, true
	}
	return nil, 0, false
}

// resourceOf gives what tells a resource from others.
func resourceOf(attributes []*common.KeyValue) (key [sha256.Size]byte) {
	h := sha256.New()
	written(h, attributes)
	h.Sum(key[:0])
	return key
}

// seriesOf gives the key of a series.
func seriesOf(resource [sha256.Size]byte, name string, p point) (key [sha256.Size]byte) {
	h := sha256.New()
	part(h, []byte(name))
	part(h, resource[:])
	written(h, p.attributes)
	part(h, binary.BigEndian.AppendUint64(nil, p.start))
	h.Sum(key[:0])
	return key
}

// written writes attributes, in whichever order they come.
func written(h hash.Hash, list []*common.KeyValue) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *common.KeyValue) int { return cmp.Compare(a.GetKey(), b.GetKey()) })
	for _, kv := range list {
		text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(kv) // what was read can be written
		part(h, text)
	}
	part(h, nil)
}

func part(h hash.Hash, text []byte) {
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text))))
	h.Write(text)
}

// logs counts what a message of events says.
func (m *meter) logs(message *collogs.ExportLogsServiceRequest) {
	for _, r := range message.GetResourceLogs() {
		for _, scope := range r.GetScopeLogs() {
			for _, one := range scope.GetLogRecords() {
				m.event(one)
			}
		}
	}
}

// event counts what one event says.
func (m *meter) event(e *logs.LogRecord) {
	number := func(name string) float64 { return numberOf(find(e.GetAttributes(), name)) }
	tool := ToolOf(textOf(find(e.GetAttributes(), "tool_name")))
	switch eventName(e) {
	case "claude_code.tool_result":
		m.add(claudeCode, fieldTool, tool, 1)
	case "codex.tool_result":
		m.add(codex, fieldTool, tool, 1)
	case "codex.sse_event":
		if textOf(find(e.GetAttributes(), "event.kind")) == "response.completed" {
			m.add(codex, fieldInput, 0, number("input_token_count"))
			m.add(codex, fieldOutput, 0, number("output_token_count"))
			m.add(codex, fieldCache, 0, number("cached_token_count"))
		}
	}
}

// eventName gives the whole name of an event: tools put it in one of three places, or the end of it.
func eventName(e *logs.LogRecord) string {
	name := cmp.Or(textOf(find(e.GetAttributes(), "event.name")), e.GetEventName(), textOf(e.GetBody()))
	if name == "tool_result" { // Claude Code has the whole in the body
		return textOf(e.GetBody())
	}
	return name
}

func find(list []*common.KeyValue, key string) *common.AnyValue {
	for _, kv := range list {
		if kv.GetKey() == key {
			return kv.GetValue()
		}
	}
	return nil
}

func textOf(v *common.AnyValue) string { return v.GetStringValue() }

// numberOf reads a number, also one that was sent as text; 0: it is none.
func numberOf(v *common.AnyValue) float64 {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_IntValue:
		return float64(v.IntValue)
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_StringValue:
		if n, err := strconv.ParseFloat(v.StringValue, 64); err == nil && !math.IsNaN(n) {
			return n
		}
	}
	return 0
}
