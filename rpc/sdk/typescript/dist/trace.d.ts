/** A traceparent, or "" when the text is none. */
export declare const checked: (text?: string) => string;
/** The trace of the job whose function runs, else the one in TRACEPARENT; "": there is none. */
export declare const here: () => string;
/** Runs a function of a job within its trace. */
export declare const within: <T>(trace: string, fn: () => T) => T;
