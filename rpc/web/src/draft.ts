// What somebody has typed and not sent yet. It survives what streams in, other views and a reload of the page.
import { useState } from "preact/hooks";

const at = (key: string): string => `vigil-draft ${key}`;

/** useDraft is useState for a text that is kept until it is set to "". */
export function useDraft(key: string, first = ""): [string, (text: string) => void] {
  const [text, set] = useState(() => sessionStorage.getItem(at(key)) ?? first);
  return [
    text,
    (next) => {
      if (next) sessionStorage.setItem(at(key), next);
      else sessionStorage.removeItem(at(key));
      set(next);
    },
  ];
}
