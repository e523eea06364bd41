import type { Mail } from "./messages.js";
/** Keeps mail until somebody asks for it. */
export declare class Kept {
    private readonly mails;
    keep(mails: readonly Mail[]): void;
    /** Gives what is kept. */
    take(): Mail[];
}
