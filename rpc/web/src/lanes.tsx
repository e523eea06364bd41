// The drawing of a timeline: it follows fingers and wheel, and leads to the events of what is touched.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { draw, heightOf, type Hit } from "./draw";
import type { Timeline as Line } from "./messages";
import { go } from "./router";

export function Drawing({
  line,
  from,
  wide,
  zoom,
  shift,
}: {
  line: Line;
  from: number;
  wide: number;
  zoom: (by: number, at?: number) => void;
  shift: (by: number) => void;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const hits = useRef<Hit[]>([]);
  const moves = useRef({ zoom, shift, gutter: 0, width: 1 });
  Object.assign(moves.current, { zoom, shift });
  const [over, setOver] = useState("");
  const height = heightOf(line);
  useEffect(() => {
    const c = canvas.current!;
    const again = (): void => {
      const got = draw(c, line, from, wide, height);
      hits.current = got.hits;
      moves.current.gutter = got.gutter;
      moves.current.width = got.width;
    };
    again();
    const size = new ResizeObserver(again);
    size.observe(c.parentElement!);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", again);
    return () => (size.disconnect(), dark.removeEventListener("change", again));
  }, [line, from, wide]);
  const find = (e: { offsetX: number; offsetY: number }): Hit | undefined =>
    hits.current.findLast(
      (h) =>
        e.offsetX >= h.x - 3 && e.offsetX <= h.x + h.w + 3 && e.offsetY >= h.y - 3 && e.offsetY <= h.y + h.h + 3,
    );
  useEffect(() => {
    const c = canvas.current!;
    const place = (x: number): number =>
      Math.min(1, Math.max(0, (x - moves.current.gutter) / moves.current.width));
    const fingers = new Map<number, number>();
    let apart = 0,
      began = 0,
      moved = false;
    const wheel = (e: WheelEvent): void => {
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) moves.current.shift(e.deltaX / 800);
      else moves.current.zoom(Math.exp(e.deltaY / 400), place(e.offsetX));
    };
    const down = (e: PointerEvent): void => {
      fingers.set(e.pointerId, e.offsetX);
      c.setPointerCapture(e.pointerId);
      began = e.offsetX;
      if (fingers.size === 1) moved = false;
      apart = 0;
    };
    const move = (e: PointerEvent): void => {
      if (!fingers.has(e.pointerId)) return;
      const was = fingers.get(e.pointerId)!;
      fingers.set(e.pointerId, e.offsetX);
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()] as [number, number];
        const now = Math.max(20, Math.abs(a - b));
        if (apart > 0) moves.current.zoom(apart / now, place((a + b) / 2));
        apart = now;
        moved = true;
      } else if (moved || Math.abs(e.offsetX - began) > 4) {
        moved = true;
        moves.current.shift((was - e.offsetX) / moves.current.width);
      }
    };
    const up = (e: PointerEvent): void => {
      fingers.delete(e.pointerId);
      if (moved || e.type !== "pointerup") return;
      const hit = find(e);
      if (hit) go(`/events?at=${hit.seq}`);
    };
    c.addEventListener("wheel", wheel, { passive: false });
    c.addEventListener("pointerdown", down);
    c.addEventListener("pointermove", move);
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    return () => {
      c.removeEventListener("wheel", wheel);
      c.removeEventListener("pointerdown", down);
      c.removeEventListener("pointermove", move);
      c.removeEventListener("pointerup", up);
      c.removeEventListener("pointercancel", up);
    };
  }, []);
  return (
    <div class="lanes" id="lanes">
      <canvas
        ref={canvas}
        role="img"
        aria-label="Lives and tasks of agents over time; the table below says the same"
        onMouseMove={(e) => {
          const hit = find(e);
          setOver(hit?.say ?? "");
          e.currentTarget.style.cursor = hit ? "pointer" : "grab";
        }}
        onMouseLeave={() => setOver("")}
      />
      <p class="over num" aria-hidden="true">
        {over || " "}
      </p>
    </div>
  );
}

