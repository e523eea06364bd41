package agentd

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	records "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/disk"
	"vigil/agentd/local"
	"vigil/agentd/telemetry"
	"vigil/rpc/gen/vigilv1"
)

// environment is what an agent says of its own.
func environment(t *testing.T, a *agentTalk) map[string]string {
	t.Helper()
	env := map[string]string{}
	for {
		words := next(t, a.words)
		if words == "" {
			t.Fatal("the agent ended before it told its environment")
		}
		for _, word := range strings.Fields(words) {
			if name, value, ok := strings.Cut(word, "="); ok {
				env[name] = value
			}
		}
		if env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" {
			return env
		}
	}
}

// completion is an event of Codex.
func completion(t *testing.T, at uint64, output int64) []byte {
	t.Helper()
	text := func(key, value string) *common.KeyValue {
		return &common.KeyValue{Key: key, Value: &common.AnyValue{
			Value: &common.AnyValue_StringValue{StringValue: value}}}
	}
	body, err := proto.Marshal(&logs.ExportLogsServiceRequest{ResourceLogs: []*records.ResourceLogs{{
		ScopeLogs: []*records.ScopeLogs{{LogRecords: []*records.LogRecord{{TimeUnixNano: at,
			Attributes: []*common.KeyValue{text("event.name", "codex.sse_event"), text("event.kind", "response.completed"),
				{Key: "output_token_count", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: output}}}},
		}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// export sends a message as an agent with that environment would; 0: nobody answers.
func export(t *testing.T, env map[string]string, token string, body []byte) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, env["OTEL_EXPORTER_OTLP_ENDPOINT"]+"/v1/logs", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	name, own, _ := strings.Cut(env["OTEL_EXPORTER_OTLP_HEADERS"], "=")
	if token == "" {
		token = own
	}
	req.Header.Set(name, token)
	req.Header.Set("Content-Type", "application/x-protobuf")
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// usageOf waits for a beat that tells usage.
func usageOf(t *testing.T, f *fake) *vigilv1.LifeUsage {
	t.Helper()
	for {
		if list := next(t, f.beats).GetUsage(); len(list) > 0 {
			return list[0]
		}
	}
}

// Telemetry of a life comes in by the port that its shim keeps: before a restart of agentd and after it, while
// nobody hears it the sender is told so, and whoever has not the token of the life is refused.
func TestTelemetryGoesOnOverARestart(t *testing.T) {
	h := newHost(t)
	h.set(func() { h.ttl = 8 * time.Second }) // so that beats do not let the test wait
	d := h.start(t)
	next(t, h.streams).orders(t, order("start", 1, 3, "tells"))
	env := environment(t, next(t, h.agents))
	for name, value := range map[string]string{"CLAUDE_CODE_ENABLE_TELEMETRY": "1",
		"GEMINI_TELEMETRY_OTLP_ENDPOINT": env["OTEL_EXPORTER_OTLP_ENDPOINT"],
		"OTEL_RESOURCE_ATTRIBUTES":       "vigil.room=demo,vigil.role=r1,vigil.agent=demo/r1,vigil.incarnation=3"} {
		if env[name] != value {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	if code := export(t, env, "0123", completion(t, 1, 7)); code != http.StatusUnauthorized {
		t.Errorf("without its token: %d", code)
	}
	// The key of the host is its name in certificates, which many see.
	hostKey, err := os.ReadFile(filepath.Join(h.spec.Dir, disk.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	guess := telemetry.Token(strings.TrimSpace(string(hostKey)), local.Life{Agent: 1, Incarnation: 3})
	if code := export(t, env, guess, completion(t, 1, 7)); code != http.StatusUnauthorized {
		t.Errorf("with a token made of the host's key: %d", code)
	}
	if code := export(t, env, "", completion(t, 1, 7)); code != http.StatusOK {
		t.Fatalf("with its token: %d", code)
	}
	before := usageOf(t, h.fake)
	if before.GetAgent() != 1 || before.GetIncarnation() != 3 || before.GetTotal().GetOutputTokens() != 7 {
		t.Fatalf("told %v", before)
	}
	d.kill(t)
	if code := export(t, env, "", completion(t, 2, 5)); code/100 != 5 {
		t.Errorf("while agentd is away: %d", code)
	}
	drained(h.beats)
	drained(h.streams)
	d = h.start(t)
	next(t, h.streams)
	until(t, "telemetry is taken again", func() bool { return export(t, env, "", completion(t, 2, 5)) == http.StatusOK })
	after := usageOf(t, h.fake)
	if after.GetTotal().GetOutputTokens() != 5 || after.GetRun() == before.GetRun() {
		t.Errorf("told %v, before the restart %v", after, before)
	}
	d.kill(t)
	h.clear(t)
}
