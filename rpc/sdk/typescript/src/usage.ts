// What a life has used, told to the agentd of its host as OpenTelemetry metrics (OTLP over HTTP, JSON).

import { Wire } from "./wire.js";

const DELTA = 1;
const LIMIT = 2000; // ms

/** Sends one message; false when there is nowhere to send it, or nobody took it. */
export async function tell(input: number, output: number, cost: number): Promise<boolean> {
  const base = /^http:\/\/(127\.0\.0\.1:[0-9]{1,5})(\/.*)?$/.exec(
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? "",
  );
  if (!base || !process.env.VIGIL_SOCKET) return false;
  const metrics: object[] = [];
  const tokens = [...point(input, "input"), ...point(output, "output")];
  if (tokens.length > 0) metrics.push(sum("vigil.usage.tokens", tokens));
  if (cost > 0) metrics.push(sum("vigil.usage.cost", point(cost)));
  if (metrics.length === 0) return true;
  const headers: Record<string, string> = {};
  for (const pair of (process.env.OTEL_EXPORTER_OTLP_HEADERS ?? "").split(",")) {
    const at = pair.indexOf("=");
    if (at > 0) headers[pair.slice(0, at).trim()] = decodeURIComponent(pair.slice(at + 1).trim());
  }
  const wire = new Wire(() => undefined);
  try {
    const path = `${(base[2] ?? "").replace(/\/$/, "")}/v1/metrics`;
    const body = JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
    return (await wire.exchange(base[1]!, { verb: "POST", path, headers, body }, [], LIMIT)).status === 200;
  } catch {
    return false;
  } finally {
    wire.close();
  }
}

function sum(name: string, dataPoints: object[]): object {
  return { name, sum: { aggregationTemporality: DELTA, isMonotonic: true, dataPoints } };
}

function point(value: number, type?: string): object[] {
  if (!(value > 0)) return [];
  const at = `${Date.now()}000000`;
  const attributes = type ? [{ key: "type", value: { stringValue: type } }] : [];
  return [{ startTimeUnixNano: at, timeUnixNano: at, asDouble: value, attributes }];
}
