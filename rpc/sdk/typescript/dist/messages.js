// Messages are types: see messages.d.ts.
export {};
