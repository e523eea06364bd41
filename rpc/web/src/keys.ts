// Keys without a modifier: views register theirs, and a letter on a button presses it.
import { useEffect } from "preact/hooks";

const typing = (e: KeyboardEvent): boolean =>
  e.target instanceof HTMLElement &&
  (e.target.matches("input, textarea, select") || e.target.closest(".xterm") !== null);

/** useKeys calls the function of a key while the view is shown. */
export function useKeys(keys: Record<string, () => void>): void {
  useEffect(() => {
    const on = (e: KeyboardEvent): void => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
      if (typing(e)) {
        if (e.key === "Escape" && !(e.target as HTMLElement).closest(".typing")) (e.target as HTMLElement).blur();
        return;
      }
      const fn = keys[e.key];
      if (fn) {
        e.preventDefault();
        fn();
      }
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  });
}

/** pressLetters has a letter press the button that carries it. */
export function pressLetters(): void {
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || typing(e) || !/^[a-z]$/.test(e.key))
      return;
    const button = document.querySelector<HTMLButtonElement>(
      `main button[data-key="${e.key}"]:not(:disabled)`,
    );
    if (button) {
      e.preventDefault();
      button.click();
    }
  });
}
