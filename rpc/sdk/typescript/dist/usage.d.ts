/** Sends one message; false when there is nowhere to send it, or nobody took it. */
export declare function tell(input: number, output: number, cost: number): Promise<boolean>;
