import type { components, paths } from "./api";

type Task = components["schemas"]["Task"];
type Failure = components["schemas"]["Error"];
type Listed = paths["/v1/tasks"]["get"]["responses"]["200"]["content"]["application/json"];
type NewTask = paths["/v1/rooms/{room}/tasks"]["post"]["requestBody"]["content"]["application/json"];
type Beat = paths["/v1/work:beat"]["post"]["requestBody"]["content"]["application/json"];

const states: Task["state"][] = ["PENDING", "COMPLETED"];

export async function create(base: string, room: string, task: NewTask, key: string): Promise<Task> {
  const answer = await fetch(`${base}/v1/rooms/${room}/tasks`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    body: JSON.stringify(task),
  });
  if (!answer.ok) {
    const failure = (await answer.json()) as Failure;
    const code: "invalid" | "not_found" | string = failure.code;
    throw new Error(`${code}: ${failure.message}`);
  }
  return (await answer.json()) as Task;
}

export function waiting(page: Listed): { tasks: Task[]; next: string | undefined } {
  const more: boolean = page.more;
  return { tasks: page.tasks.filter((t) => states.includes(t.state)), next: more ? page.next : undefined };
}

export const beat: Beat = { speaker: { agent: "web/builder", incarnation: "1", token: "secret" } };
