/** The map on a canvas: only what is in view is drawn, so that 150,000 pods stay fluent. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Cluster } from "../model/cluster";
import { CanvasPen, draw } from "../model/draw";
import { neighbor, placeAt, placeOf, type Layout, type Place } from "../model/layout";
import { count, number } from "../model/words";
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
  onWidth: (width: number) => void;
  onNode: (node: number) => void;
  onWorkload: (workload: number) => void;
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

export function ClusterCanvas({ cluster, layout, rows, colorOf, highlight, onWidth, onNode, onWorkload }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [cursor, setCursor] = useState(-1);
  const [hover, setHover] = useState<Hover | null>(null);
  const theme = useTheme();
  const drawing = useMemo(
    () => ({ cluster, layout, theme, colorOf, highlight, cursor }),
    [cluster, layout, theme, colorOf, highlight, cursor],
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
    const paint = (): void => {
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
      draw(drawing, new CanvasPen(context), element.scrollTop, element.scrollTop + height);
    };
    const schedule = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(paint);
    };
    schedule();
    const observer = new ResizeObserver(schedule);
    observer.observe(element);
    element.addEventListener("scroll", schedule, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener("scroll", schedule);
    };
  }, [drawing]);

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
    const element = box.current;
    if (!place || !element) return;
    if (place.y < element.scrollTop) element.scrollTop = place.y - 30;
    else if (place.y + place.height > element.scrollTop + element.clientHeight)
      element.scrollTop = place.y + place.height + 10 - element.clientHeight;
    announce(describe(cluster, place.node, rows));
  };

  return (
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
        if (!found) return;
        if (found.workload >= 0) onWorkload(found.workload);
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
}

function describe(cluster: Cluster, node: number, rows: string): string {
  const [first, end] = cluster.podsOn(node);
  const states = statesOf(cluster, node);
  return [
    `Node ${cluster.names[node] ?? ""}`,
    `${rows} ${cluster.domainOf(node, rows) ?? "without the key"}`,
    count(end - first, "pod"),
    ...states,
  ].join(", ");
}

/** Return what keeps pods off a node, in words. */
export function statesOf(cluster: Cluster, node: number): string[] {
  const taints = cluster.taintsOf(node);
  return [
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
        <Name>{cluster.domainOf(place.node, rows) ?? "without the key"}</Name>, {count(end - first, "pod")}
        {states.length > 0 && <>, {states.join(", ")}</>}
      </p>
    </div>
  );
}
