// What a human can do to an agent, with what each will do.
import { agentPath, post } from "./api";

export interface Action {
  label: string;
  done: string;
  sure?: string;
  of?: string;
  kind?: "primary" | "danger";
  go: () => Promise<unknown>;
}

export interface Subject {
  name: string;
  life: string;
  rev: string;
  task?: string | undefined;
}

export function agentActions(a: Subject): Record<"restart" | "stop" | "start" | "unpark", Action> {
  const path = agentPath(a.name),
    kept = a.task && a.task !== "0" ? ` Task ${a.task} goes on with the next one.` : "";
  return {
    restart: {
      label: "Restart",
      kind: "danger",
      done: `${a.name} is restarted.`,
      of: a.life,
      sure: `Life ${a.life || "–"} ends and the next one starts.${kept}`,
      go: () => post(`${path}:restart`, { reason: "on the page", if_rev: a.rev }),
    },
    stop: {
      label: "Stop",
      kind: "danger",
      done: `${a.name} is stopped.`,
      sure: `${a.name} ends and stays off until somebody starts it.${a.task && a.task !== "0" ? ` Task ${a.task} is given back.` : ""}`,
      go: () => post(`${path}:set`, { desired: "stopped", reason: "on the page", if_rev: a.rev }),
    },
    start: {
      label: "Start",
      kind: "primary",
      done: `${a.name} is started.`,
      go: () => post(`${path}:set`, { desired: "running", reason: "on the page", if_rev: a.rev }),
    },
    unpark: {
      label: "Start now",
      done: `${a.name} is started now.`,
      go: () => post(`${path}:unpark`, { if_rev: a.rev }),
    },
  };
}

/** pauses gives the way into a pause of everything (no scope), a room or an agent, and out of it. */
export function pauses(scope: string): { pause: Action; resume: Action } {
  const what = scope || "Everything",
    set = (pause: boolean) => (): Promise<unknown> => post("v1/pause", { scope, pause, reason: "on the page" });
  return {
    pause: {
      label: scope ? "Pause" : "Pause everything",
      done: `${what} is paused.`,
      sure: "What runs goes on; nothing new is started or claimed until somebody resumes it.",
      go: set(true),
    },
    resume: { label: "Resume", kind: "primary", done: `${what} goes on.`, go: set(false) },
  };
}
