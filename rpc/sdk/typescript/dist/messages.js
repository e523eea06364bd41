// The messages of vigil's API: what a call takes and what it answers.
// Made by `make generate` from the OpenAPI document. Do not edit.
export {};
