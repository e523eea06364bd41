// The terminal, loaded when one is looked at. It only shows: nothing is typed through it.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

export interface Pane {
  /** show replaces what is shown. */
  show(text: string): void;
  /** write adds what a program has printed. */
  write(bytes: Uint8Array): void;
  close(): void;
}

/**
 * sheets has what xterm.js writes into style elements go into style sheets that scripts may make: the page
 * allows no inline style.
 */
function sheets(): void {
  const make = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    if (name !== "style") return make(name, options);
    const element = make("template"); // stands where the style would, and shows nothing
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    Object.defineProperty(element, "textContent", {
      get: () => "",
      set: (css: string) => sheet.replaceSync(css),
    });
    const remove = element.remove.bind(element);
    element.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
      remove();
    };
    return element;
  }) as typeof document.createElement;
}

sheets();

export function open(at: HTMLElement): Pane {
  const term = new Terminal({
    convertEol: true,
    disableStdin: true,
    cursorInactiveStyle: "none",
    scrollback: 5000,
    fontSize: 12,
    lineHeight: 1.2,
    fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace',
    theme: { background: "#121217", foreground: "#e6e6ec", cursor: "#121217" },
    screenReaderMode: false,
    linkHandler: null,
    minimumContrastRatio: 4.5,
  });
  const fit = new FitAddon();
  term.loadAddon(fit);
  // What an agent prints moves and colours text, and that is all: no titles, links or clipboards.
  for (const code of [0, 1, 2, 8, 9, 52, 777, 1337]) term.parser.registerOscHandler(code, () => true);
  term.open(at);
  const size = new ResizeObserver(() => fit.fit());
  size.observe(at);
  fit.fit();
  let shown: string | undefined;
  return {
    show(text) {
      if (text === shown) return;
      shown = text;
      term.write("\x1b[2J\x1b[3J\x1b[H" + text.trimEnd());
    },
    write: (bytes) => term.write(bytes),
    close() {
      size.disconnect();
      term.dispose();
    },
  };
}
