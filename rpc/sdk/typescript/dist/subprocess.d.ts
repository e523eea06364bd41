import { type ChildProcess, type SpawnOptions } from "node:child_process";
/** How a command is run. */
export interface RunOptions {
    /** What it reads; absent: nothing. */
    input?: string;
    cwd?: string;
    env?: NodeJS.ProcessEnv;
    /** Seconds after which it is ended. */
    timeout?: number;
    /** Seconds between SIGTERM and SIGKILL. Default: 10. */
    grace?: number;
    /** false: an exit code other than 0 is no error. */
    check?: boolean;
}
/** How a command has ended. */
export interface Ran {
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    /** Its output, of which the last MiB is kept. */
    readonly stdout: string;
    readonly stderr: string;
}
/** A command has ended with another exit code than 0, by a signal, or since its time was over. */
export declare class CommandFailed extends Error {
    readonly ran: Ran;
    readonly name = "CommandFailed";
    constructor(message: string, ran: Ran);
}
/** A command that is ended when nobody wants its result any more. */
export declare class Running {
    private readonly child;
    private readonly grouped;
    private readonly grace;
    private readonly gone;
    private killer;
    private ending;
    constructor(child: ChildProcess, grouped: boolean, grace: number);
    get over(): boolean;
    /** Sends SIGTERM, and SIGKILL after the grace; it resolves when the process is gone. */
    end(): Promise<void>;
    /** What a command has started in its own group gets the signal, too. */
    private kill;
}
/** Starts a command in a process group of its own, without a shell. */
export declare function start(command: string, args: readonly string[], options: SpawnOptions): {
    child: ChildProcess;
    grouped: boolean;
};
/** Waits for the end of a command whose output is kept. */
export declare function ended(child: ChildProcess, input: string | undefined): Promise<Ran>;
/** Why a command counts as failed; undefined: it does not. */
export declare function complaint(command: string, ran: Ran): string | undefined;
