/** The map on a canvas: only what is in view is drawn, so that 150,000 pods stay fluent. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Cluster } from "../model/cluster";
import { OTHER_POSITION } from "../model/colors";
import { CanvasPen, draw, type Flying } from "../model/draw";
import { neighbor, placeAt, placeOf, podOffset, type Layout, type Place } from "../model/layout";
import type { Flight, Motion } from "../model/moves";
import { count, domainWords, number } from "../model/words";
import { announce } from "../parts/live";
import { Name, Title } from "../parts/text";
import { px } from "../parts/VirtualRows";
import { useTheme } from "../parts/theme";

interface Props {
  cluster: Cluster;
  layout: Layout;
  rows: string;
  colorOf: Uint8Array;
  highlight: number;
  /** The node that is open; -1 for none. */
  node: number;
  /** What a what-if moves; null where nothing happens. */
  moves: Motion | null;
  /** How many more pods each node had before it. */
  left: ((node: number) => number) | null;
  onWidth: (width: number) => void;
  onNode: (node: number) => void;
  /** Opens a row, and picks a workload; absent where there is nothing to open or pick. */
  onRow?: (row: number) => void;
  onWorkload?: (workload: number) => void;
}

interface Hover {
  place: Place;
  /** The pod below the pointer, as a position of the cluster's pods; -1 for none. */
  workload: number;
  left: number;
  top: number;
}

const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);
const TIP_WIDTH = 260;

/** Milliseconds that pods take to their new nodes. */
const FLIGHT = 900;

export function ClusterCanvas(props: Props) {
  const { cluster, layout, rows, colorOf, highlight, node, moves, left, onWidth, onNode, onRow, onWorkload } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [cursor, setCursor] = useState(-1);
  const [hover, setHover] = useState<Hover | null>(null);
  // The row at the top of what is in view; -1 while all of them are.
  const [here, setHere] = useState(-1);
  const theme = useTheme();
  // Where the opened node is drawn.
  const opened = useMemo(() => layout.order.indexOf(node), [layout, node]);
  const marked = cursor >= 0 ? cursor : opened;
  const drawing = useMemo(
    () => ({
      cluster,
      layout,
      theme,
      colorOf,
      highlight,
      cursor: marked,
      left,
      arrived: moves?.arrived ?? cluster.arrived,
    }),
    [cluster, layout, theme, colorOf, highlight, marked, left, moves],
  );
  // When the pods of which what-if began to move.
  const started = useRef<{ moves: Motion | null; at: number }>({ moves: null, at: 0 });
  // The row that was jumped to, and how far down that is.
  const jumped = useRef({ row: -1, top: -1 });

  /** Scroll to a row; near the end it cannot be at the top, and is the one in view all the same. */
  const jump = useCallback(
    (row: number): void => {
      box.current?.scrollTo({ top: layout.rows[row]?.y ?? 0 });
      jumped.current = { row, top: box.current?.scrollTop ?? 0 };
    },
    [layout],
  );

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      onWidth(element.clientWidth);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [onWidth]);

  useEffect(() => {
    const element = box.current;
    const surface = canvas.current;
    const context = surface?.getContext("2d");
    if (!element || !surface || !context) return;
    let frame = 0;
    // A panel that opens beside the map moves the rows.
    if (jumped.current.top === element.scrollTop) jump(jumped.current.row);
    if (started.current.moves !== moves) started.current = { moves, at: performance.now() };
    const flights = moves && !matchMedia("(prefers-reduced-motion: reduce)").matches ? moves.flights : [];
    const paint = (): void => {
      const done = Math.min(1, (performance.now() - started.current.at) / FLIGHT);
      const below = element.scrollTop + element.clientHeight;
      const flying = done < 1 ? inFlight(layout, flights, colorOf, below, done) : [];
      if (flying.length) frame = requestAnimationFrame(paint);
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      const [width, height] = [element.clientWidth, element.clientHeight];
      if (surface.width !== Math.round(width * ratio) || surface.height !== Math.round(height * ratio)) {
        surface.width = Math.round(width * ratio);
        surface.height = Math.round(height * ratio);
        surface.style.height = px(height);
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.translate(0, -element.scrollTop);
      const { row, top } = jumped.current;
      const current = top === element.scrollTop ? row : rowAt(layout, element.scrollTop);
      setHere(element.scrollHeight > height + 1 ? current : -1);
      draw({ ...drawing, flying }, new CanvasPen(context), element.scrollTop, element.scrollTop + height);
    };
    const schedule = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(paint);
    };
    schedule();
    // What is under the pointer is another thing then.
    const scrolled = (): void => {
      setHover(null);
      schedule();
    };
    setHover(null);
    const observer = new ResizeObserver(schedule);
    observer.observe(element);
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, [drawing, layout, colorOf, moves, jump]);

  const locate = (event: PointerEvent | MouseEvent): Hover | null => {
    const element = box.current;
    if (!element) return null;
    const edge = element.getBoundingClientRect();
    const [x, y] = [event.clientX - edge.left, event.clientY - edge.top];
    const place = placeAt(layout, x, y + element.scrollTop);
    if (!place) return null;
    const [first, end] = cluster.podsOn(place.node);
    const pod = place.pod >= 0 && first + place.pod < end ? first + place.pod : -1;
    const left = Math.max(0, Math.min(x + 14, element.clientWidth - TIP_WIDTH));
    const below = y + 16 + 120 < element.clientHeight;
    return {
      place,
      workload: pod < 0 ? -1 : (cluster.podWorkload[pod] ?? -1),
      left,
      top: element.scrollTop + (below ? y + 16 : Math.max(0, y - 130)),
    };
  };

  /** Return the row whose label is at a point; -1 beside all labels. */
  const rowOf = (event: MouseEvent): number => {
    const element = box.current;
    if (!element) return -1;
    const edge = element.getBoundingClientRect();
    const y = event.clientY - edge.top + element.scrollTop;
    const row = rowAt(layout, y);
    const found = layout.rows[row];
    const label = layout.left < 40 ? y < (found?.y ?? 0) + 22 : event.clientX - edge.left < layout.left;
    return found && y < found.y + found.height && label ? row : -1;
  };

  /** Scroll to a node that is not in view. */
  const reveal = useCallback(
    (at: number): void => {
      const place = placeOf(layout, at);
      const element = box.current;
      if (!place || !element) return;
      if (place.y < element.scrollTop) element.scrollTop = place.y - 30;
      else if (place.y + place.height > element.scrollTop + element.clientHeight)
        element.scrollTop = place.y + place.height + 10 - element.clientHeight;
    },
    [layout],
  );
  useEffect(() => {
    reveal(opened);
  }, [reveal, opened]);

  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && cursor >= 0) {
      onNode(layout.order[cursor] ?? 0);
      return;
    }
    if (!KEYS.has(event.key)) return;
    event.preventDefault();
    const at = cursor < 0 ? 0 : neighbor(layout, cursor, event.key);
    setCursor(at);
    const place = placeOf(layout, at);
    if (!place) return;
    reveal(at);
    announce(describe(cluster, place.node, rows));
  };

  const map = (
    <div
      class="map"
      ref={box}
      tabIndex={0}
      role="application"
      aria-roledescription="map of the cluster"
      aria-label={`${count(cluster.names.length, "node")} by ${rows}. Arrow keys move between nodes, Enter opens one. The table has the same in text.`}
      data-testid="cluster-map"
      style={{ height: px(layout.height + 2) }}
      onKeyDown={press}
      onFocus={() => {
        if (cursor < 0) setCursor(0);
      }}
      onBlur={() => {
        setCursor(-1);
      }}
      onPointerMove={(event) => {
        setHover(locate(event));
      }}
      onPointerLeave={() => {
        setHover(null);
      }}
      onClick={(event) => {
        const found = locate(event);
        setHover(null);
        if (!found) {
          const row = rowOf(event);
          if (row >= 0) onRow?.(row);
          return;
        }
        if (found.workload >= 0 && onWorkload) onWorkload(found.workload);
        else onNode(found.place.node);
      }}
      onDblClick={(event) => {
        const found = locate(event);
        if (found) onNode(found.place.node);
      }}
    >
      <div class="map-space" style={{ height: px(layout.height) }}>
        <canvas ref={canvas} />
      </div>
      {hover && <Tip cluster={cluster} hover={hover} rows={rows} />}
    </div>
  );
  return (
    <div class="map-frame">
      {onRow && layout.rows.length > 1 && layout.rows.length <= MOST_ROWS && (
        <nav class="map-rows" aria-label={`Rows by ${rows}`} data-testid="map-rows">
          {layout.rows.map((row, at) => (
            <button
              key={at}
              aria-current={at === here}
              onClick={() => {
                jump(at);
                onRow(at);
              }}
            >
              <Name>{domainWords(row.domain.name)}</Name>
            </button>
          ))}
        </nav>
      )}
      {map}
    </div>
  );
}

/** Rows of the map that are offered to be jumped to. */
const MOST_ROWS = 100;

/** Return the pods on their way: half of it they are fast, then slower. */
function inFlight(
  layout: Layout,
  flights: readonly Flight[],
  colorOf: Uint8Array,
  below: number,
  done: number,
): Flying[] {
  const part = 1 - (1 - done) ** 3;
  const at = positionsOf(layout);
  const point = ([node, pod]: readonly [number, number]): [number, number] => {
    const place = placeOf(layout, at[node] ?? 0);
    const [dx, dy] = podOffset(layout, pod);
    return [(place?.x ?? 0) + dx, (place?.y ?? 0) + dy];
  };
  return flights.map(({ workload, from, to }) => {
    const [x, y] = point(from);
    const [toX, toY] = to ? point(to) : [x, below];
    return { color: colorOf[workload] ?? OTHER_POSITION, x: x + (toX - x) * part, y: y + (toY - y) * part };
  });
}

/** Return where each node is in the order of the layout. */
function positionsOf(layout: Layout): Int32Array {
  const found = new Int32Array(layout.order.length);
  layout.order.forEach((node, at) => {
    found[node] = at;
  });
  return found;
}

/** Return the row at a height of the map. */
function rowAt(layout: Layout, y: number): number {
  const after = layout.rows.findIndex((row) => row.y > y + 1);
  return (after < 0 ? layout.rows.length : Math.max(1, after)) - 1;
}

function describe(cluster: Cluster, node: number, rows: string): string {
  const [first, end] = cluster.podsOn(node);
  const states = statesOf(cluster, node);
  return [
    `Node ${cluster.names[node] ?? ""}`,
    `${rows} ${domainWords(cluster.domainOf(node, rows))}`,
    count(end - first, "pod"),
    ...states,
  ].join(", ");
}

/** Return what keeps pods off a node, in words. */
export function statesOf(cluster: Cluster, node: number): string[] {
  const taints = cluster.taintsOf(node);
  return [
    ...(cluster.lost.has(node) ? ["lost"] : []),
    ...(cluster.notReady.has(node) ? ["not ready"] : []),
    ...(cluster.cordoned.has(node) ? ["cordoned"] : []),
    ...(taints.length ? [count(taints.length, "taint")] : []),
  ];
}

function Tip({ cluster, hover, rows }: { cluster: Cluster; hover: Hover; rows: string }) {
  const { place } = hover;
  const [first, end] = cluster.podsOn(place.node);
  const workload = cluster.workloads[hover.workload];
  const states = statesOf(cluster, place.node);
  return (
    <div class="tip" aria-hidden="true" style={{ left: px(hover.left), top: px(hover.top), width: px(TIP_WIDTH) }}>
      {workload && (
        <p class="tip-workload">
          <Title {...workload} />
          <span class="quiet"> {number(cluster.running[hover.workload] ?? 0)} running</span>
        </p>
      )}
      <p>
        <strong>
          <Name>{cluster.names[place.node] ?? ""}</Name>
        </strong>
      </p>
      <p class="quiet">
        <Name>{domainWords(cluster.domainOf(place.node, rows))}</Name>, {count(end - first, "pod")}
        {states.length > 0 && <>, {states.join(", ")}</>}
      </p>
    </div>
  );
}
