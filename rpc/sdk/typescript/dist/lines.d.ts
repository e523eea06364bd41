/** Gives the lines of a text that comes in parts, without their ends and without empty ones. */
export declare function lines(from: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined>;
