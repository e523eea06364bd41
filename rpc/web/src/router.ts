// Where in the page the reader is. It stands behind the # of the address, so the page works below any path.
import { computed, signal } from "@preact/signals";

const here = (): string => decodeURI(location.hash.slice(1)) || "/fleet";

/** route is the path behind the #, for instance /agent/web/builder. */
export const route = signal(here());

/** place is the first word of it. */
export const place = computed(() => route.value.split("?")[0]!.split("/")[1] || "fleet");

/** rest is what follows the first word: web/builder. */
export const rest = computed(() => route.value.split("?")[0]!.split("/").slice(2).join("/"));

/** params are those behind the ?. */
export const params = computed(() => new URLSearchParams(route.value.split("?")[1] ?? ""));

export function go(to: string): void {
  location.hash = encodeURI(to);
}

/** put changes the address while one stays where one is, so that it can be handed on. */
export function put(to: string): void {
  history.replaceState(null, "", location.pathname + location.search + link(to));
  route.value = to;
}

/** link is the address of a place. */
export const link = (to: string): string => "#" + encodeURI(to);

addEventListener("hashchange", () => {
  route.value = here();
  document.getElementById("main")?.focus({ preventScroll: true });
  scrollTo(0, 0);
});
