// The terminal, loaded when one is looked at. It shows; what is typed goes to whoever asks for it, and nowhere
// else.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

import type { Screen } from "./messages";

export interface Listener {
  /** keys gets what is typed. */
  keys(text: string): void;
  /** resize gets the size that fits the place of the terminal, at once and when that changes. */
  resize(columns: number, rows: number): void;
  /** leave is called by Ctrl-]. */
  leave(): void;
}

export interface Pane {
  /** show replaces what is shown by a screen, in its own size. */
  show(screen: Screen): void;
  /** listen tells whoever types there; without anybody nothing can be typed. */
  listen(to?: Listener): void;
  /** write adds what a program has printed. */
  write(bytes: Uint8Array): void;
  /** clear takes away what was written. */
  clear(): void;
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

/** least is how many rows a screen has at the least. */
const least = 10;

/** typed is the size of the font of a screen that fits its place, in pixels, and settled how long that must stand. */
const typed = 12,
  settled = 250;

/** letter is the width of a letter in parts of the size of its font. */
const letter = 0.602;

/**
 * drawn is a row of a screen with nothing in it but text and its colours. Whatever else a host sends would be
 * a question to xterm.js, whose answer goes where keys go, or a mode that makes keys of clicks.
 */
function drawn(row: string): string {
  return row
    .replace(/\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)/g, "") // links, of tmux 3.4 and newer
    .replace(/(\x1b\[[\d;:]*m)|[\x00-\x1f\x7f-\x9f]/g, (_, colour: string | undefined) => colour ?? "");
}

/** open makes a terminal; of a screen it has the size of that, else of its place. */
export function open(at: HTMLElement, screen = false): Pane {
  const term = new Terminal({
    convertEol: true,
    disableStdin: true,
    cursorInactiveStyle: screen ? "outline" : "none",
    scrollback: screen ? 0 : 5000,
    fontSize: 12,
    lineHeight: 1.2,
    fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace',
    theme: { background: "#121217", foreground: "#e6e6ec", cursor: screen ? "#e6e6ec" : "#121217" },
    screenReaderMode: false,
    linkHandler: null,
    minimumContrastRatio: 4.5,
  });
  const fit = new FitAddon();
  term.loadAddon(fit);
  // What an agent prints moves and colours text, and that is all: no titles, links or clipboards.
  for (const code of [0, 1, 2, 8, 9, 52, 777, 1337]) term.parser.registerOscHandler(code, () => true);
  term.open(at);
  let columns = 0;
  const room = (): void => {
    if (!screen) return fit.fit();
    if (columns === 0) return;
    const size = Math.floor(((at.clientWidth - 16) / columns / letter) * 2) / 2;
    term.options.fontSize = size >= 8 ? Math.min(size, 13) : 11; // narrower than that one scrolls sideways
  };
  let to: Listener | undefined;
  let told = "",
    soon = 0;
  /** tell says which size fits: all of the width, and of the height what leaves the page around it in view. */
  const tell = (): void => {
    const columns = Math.min(Math.max(Math.floor((at.clientWidth - 16) / (typed * letter)), 20), 500);
    const rows = Math.min(Math.max(Math.floor((innerHeight * 0.6) / (typed * 1.2)), 5), 200);
    if (!to || at.clientWidth === 0 || told === `${columns} ${rows}`) return;
    told = `${columns} ${rows}`;
    to.resize(columns, rows);
  };
  const settle = (): void => {
    clearTimeout(soon);
    soon = window.setTimeout(tell, settled);
  };
  const size = new ResizeObserver(() => {
    room();
    settle();
  });
  size.observe(at);
  addEventListener("resize", settle);
  room();
  term.onData((text) => to?.keys(text));
  term.attachCustomKeyEventHandler((e) => {
    if (!to || !e.ctrlKey || e.key !== "]") return true;
    if (e.type === "keydown") to.leave();
    e.preventDefault();
    return false;
  });
  /** follow keeps the cursor in view where one scrolls sideways. */
  const follow = (x: number): void => {
    const at1 = (x / Math.max(1, columns)) * at.scrollWidth;
    if (at1 < at.scrollLeft || at1 > at.scrollLeft + at.clientWidth - 30)
      at.scrollLeft = Math.max(0, at1 - at.clientWidth / 2);
  };
  return {
    show(s) {
      const rows = (s.text ?? "").trimEnd().split("\n").slice(0, s.rows);
      // Rows that nothing was written to yet need no room, except while one types.
      const used = to ? s.rows : Math.min(s.rows, Math.max(rows.length, s.cursor_y + 1, least));
      if (s.columns !== term.cols || used !== term.rows) {
        columns = s.columns;
        term.resize(s.columns, used);
        room();
      }
      // Attributes of tmux go on from line to line, so nothing is reset between them.
      term.write(
        "\x1b[?25l\x1b[0m\x1b[2J\x1b[H" +
          rows.map(drawn).join("\r\n") +
          `\x1b[0m\x1b[${s.cursor_y + 1};${s.cursor_x + 1}H` +
          (s.cursor_hidden ? "" : "\x1b[?25h"),
      );
      if (to) follow(s.cursor_x);
    },
    listen(now) {
      [to, told] = [now, ""];
      term.options.disableStdin = !to;
      if (to) term.focus();
      else term.blur();
      tell();
    },
    write: (bytes) => term.write(bytes),
    clear: () => term.write("\x1bc"), // behind what is being written
    close() {
      size.disconnect();
      removeEventListener("resize", settle);
      clearTimeout(soon);
      term.dispose();
    },
  };
}
