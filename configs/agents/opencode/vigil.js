// vigil for OpenCode: put this file into .opencode/plugins/ or ~/.config/opencode/plugins/.
//
// Written after the documentation of OpenCode V1 (plugins, events); not run inside
// OpenCode here, because it takes an account. Nothing is waited for, and nothing that
// fails here is noticed by OpenCode.
import { spawn } from "node:child_process";

// The program; tests name another.
const program = process.env.VIGIL_PROGRAM || "vigil";

function vigil(...words) {
  try {
    const child = spawn(program, [...words, "--best-effort"], { stdio: "ignore" });
    child.on("error", () => {}); // it is not installed
    child.unref();
  } catch {
    // as above
  }
}

export const Vigil = async () => ({
  // A tool has been used: the work goes on, and whoever was asked has answered.
  "tool.execute.after": async () => {
    vigil("task", "progress");
    vigil("declare", "healthy", "--after", "needs-input", "--said", "OpenCode asks a human");
  },
  event: async ({ event }) => {
    switch (event.type) {
      case "session.created":
        // The runner of configs/runners.d goes on with the newest session of the folder.
        vigil("remember", "begun");
        break;
      case "permission.asked": // permission.updated in older versions
      case "permission.updated":
        vigil("declare", "needs-input", "OpenCode asks a human");
        break;
      case "permission.replied":
        vigil("declare", "healthy", "--after", "needs-input");
        break;
      case "session.idle":
        // The turn is over, and with it any long call of a tool and any question of OpenCode's own.
        vigil("declare", "healthy", "--after", "in-tool");
        vigil("declare", "healthy", "--after", "needs-input", "--said", "OpenCode asks a human");
        break;
    }
  },
});
