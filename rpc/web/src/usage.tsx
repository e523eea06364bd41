// What agents have used, as their tools tell it, and how budgets stand.
import type { JSX } from "preact";
import { post, read } from "./api";
import { span, seconds } from "./format";
import { useLive } from "./live";
import type { GetUsageResponse, Usage, UsageState } from "./messages";
import { Act, Badge, Card } from "./ui";

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const money = (micro: string | undefined): string => `$${(Number(micro ?? 0) / 1e6).toFixed(2)}`;

/** Used is an amount in words. */
export function Used({ of }: { of: Usage | undefined }): JSX.Element {
  const tokens = Number(of?.input_tokens ?? 0) + Number(of?.output_tokens ?? 0);
  return (
    <span class="num">
      {short.format(tokens)} tokens, {money(of?.micro_usd)}, {short.format(Number(of?.tools ?? 0))} tools
    </span>
  );
}

/** Stand is how the budget stands, with the way to lift that of a room or a role. */
function Stand({ u, again }: { u: UsageState; again?: () => void }): JSX.Element | null {
  const b = u.budget;
  if (!b) return null;
  const of = [
    b.tokens && b.tokens !== "0" && `${short.format(Number(b.tokens))} tokens`,
    b.micro_usd && b.micro_usd !== "0" && money(b.micro_usd),
  ].filter(Boolean);
  const [room, role] = (u.name ?? "").split("/");
  const tight = u.stage === "warned" || u.stage === "out";
  return (
    <span class="line">
      <span class="faint">of {of.join(" and ")}</span>
      {u.stage === "out" && <Badge tone="bad">used up: nothing new begins</Badge>}
      {u.stage === "warned" && <Badge tone="warn">nearly used up</Badge>}
      {u.lifted_for && (
        <Badge tone="busy">
          lifted by {u.lifted_by || "somebody"} for {span(seconds(u.lifted_for))}
        </Badge>
      )}
      {again && tight && u.kind !== "agent" && (
        <Act
          label="Lift the budget"
          done="It goes on beyond its budget."
          sure={`${u.name} goes on beyond its budget for 25 hours.`}
          go={() => post(`v1/rooms/${room}:liftBudget`, { role })}
          then={again}
        />
      )}
    </span>
  );
}

/** RoomUsage is what a room and its roles have used; nothing where no agent has told of any. */
export function RoomUsage({ room }: { room: string }): JSX.Element | null {
  const got = useLive(
    (abort) => read<GetUsageResponse>("v1/usage", { room }, abort),
    (e) => e.room === room && (e.kind ?? "").startsWith("budget."),
    [room],
    15000,
  );
  const rows = (got.value?.usage ?? []).filter((u) => u.day || u.budget);
  if (rows.length === 0) return null;
  return (
    <Card title="Used in 24 hours" wide side={<span class="faint">as the tools of its agents tell</span>}>
      <table class="list">
        <tbody>
          {rows.map((u) => (
            <tr key={u.name}>
              <td>
                <b>{u.kind === "room" ? "the room" : u.name?.split("/")[1]}</b>
              </td>
              <td data-of="used">
                <Used of={u.day} />
              </td>
              <td>
                <Stand u={u} again={got.again} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {(got.value?.warnings ?? []).map((w) => (
        <p key={w} class="faint">
          {w}
        </p>
      ))}
    </Card>
  );
}

/** AgentUsage is what an agent has used; nothing when it has told of none. */
export function AgentUsage({ u }: { u: UsageState | undefined }): JSX.Element | null {
  if (!u || !(u.day || u.life)) return null;
  return (
    <>
      <dt>Used in 24 h</dt>
      <dd>
        <Used of={u.day} /> <Stand u={u} />
      </dd>
      <dt>This life</dt>
      <dd>
        <Used of={u.life} />
      </dd>
    </>
  );
}
