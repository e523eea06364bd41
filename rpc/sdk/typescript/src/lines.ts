// The lines of a stream.

const MAX = 16 << 20; // bytes of one line, as in the Go client

/** Gives the lines of a text that comes in parts, without their ends and without empty ones. */
export async function* lines(from: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of from) {
    rest += decoder.decode(part, { stream: true });
    const all = rest.split("\n");
    rest = all.pop()!;
    for (const line of all) if (line.trim() !== "") yield line;
    if (rest.length > MAX) throw new RangeError(`a line has more than ${MAX} bytes`);
  }
  if (rest.trim() !== "") yield rest;
}
