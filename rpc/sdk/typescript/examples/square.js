// @ts-check
// The worker of map_tasks.js. Start as many of it as the role has replicas.
import { worker } from "vigil";

await worker(
  "web/square",
  (job) => {
    const { n } = /** @type {{ n: number }} */ (job.json());
    return { square: n * n };
  },
  { log: () => undefined },
);
