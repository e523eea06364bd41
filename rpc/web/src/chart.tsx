// A small chart of the last hour.
import uPlot from "uplot";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "./format";

export interface Line {
  name: string;
  color: "--accent" | "--good" | "--warn" | "--bad";
  values: (number | null)[];
}

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** dark changes when colours do, so that canvases are drawn again. */
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Chart draws lines over seconds before now, which are negative. */
export function Chart({
  title,
  times,
  lines,
}: {
  title: string;
  times: number[];
  lines: Line[];
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const newest = lines.map((l) => `${l.name} ${count(Math.round(l.values.at(-1) ?? 0))}`).join(", ");
  useEffect(() => {
    const at = box.current!;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      const faint = css("--line"),
        text = css("--muted");
      plot = new uPlot(
        {
          width: Math.max(at.clientWidth, 120),
          height: 96,
          legend: { show: false },
          cursor: { show: false },
          padding: [6, 16, 0, 0],
          scales: {
            x: { time: false, range: [-3600, 0] },
            y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
          },
          axes: [
            {
              stroke: text,
              grid: { show: false },
              ticks: { show: false },
              size: 18,
              font: "11px system-ui",
              splits: () => [-3600, -1800, 0],
              values: () => ["−1 h", "−30 m", "now"],
            },
            {
              stroke: text,
              grid: { stroke: faint, width: 1 },
              ticks: { show: false },
              size: 34,
              font: "11px system-ui",
              splits: (_, __, min, max) =>
                [min, max / 2, max].map(Math.floor).filter((v, i, all) => all.indexOf(v) === i),
            },
          ],
          series: [
            {},
            ...lines.map((l) => ({
              stroke: css(l.color),
              width: 1.5,
              points: { show: false },
              spanGaps: false,
              ...(lines.length === 1 ? { fill: css(l.color) + "22" } : {}),
            })),
          ],
        },
        [times, ...lines.map((l) => l.values)] as uPlot.AlignedData,
        at,
      );
    };
    draw();
    const size = new ResizeObserver(() =>
      plot?.setSize({ width: Math.max(at.clientWidth, 120), height: 96 }),
    );
    size.observe(at);
    dark.addEventListener("change", draw);
    return () => {
      size.disconnect();
      dark.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [times, lines]);
  return (
    <figure class="chart">
      <figcaption>
        <b>{title}</b>
        {lines.map((l) => (
          <span key={l.name} class={"key " + l.color.slice(2)}>
            {l.name} {count(Math.round(l.values.at(-1) ?? 0))}
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}, last hour: ${newest}`} />
    </figure>
  );
}
