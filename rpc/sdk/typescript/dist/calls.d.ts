// The calls of vigil's API: how each is made over HTTP, and when it may be repeated.
// Made by `make generate` from the OpenAPI document. Do not edit.

import type { Calls } from "./messages.js";

/** How a call is made. Of several routes the first counts whose variables all have a value. */
export interface Route {
  readonly verb: string;
  readonly path: string;
  /** Fields of the message that stand in the path. */
  readonly variables: readonly string[];
  /** Fields that follow it, where the call has no body. */
  readonly query: readonly string[];
  /** All other fields are sent as JSON. */
  readonly body: boolean;
}

/** What a client has to know of a call. */
export interface Method {
  readonly routes: readonly Route[];
  /**
   * always: it may be repeated while it is open whether it was done, where numbered says so under its
   * write id only; unsent: only after an answer that proves that nothing was done; never.
   */
  readonly repeat: "always" | "unsent" | "never";
  /** It takes a write id. */
  readonly numbered: boolean;
  /** A server may hold it for as long as its caller likes. */
  readonly parked: boolean;
  /** Its answer may take minutes. */
  readonly long: boolean;
  /** Its answer is many messages, one a line. */
  readonly streams: boolean;
}

export declare const methods: Readonly<Record<keyof Calls, Method>>;
