/** The skew over the steps of a rollout, against maxSkew, with the step that is shown. */
import { scaleLinear } from "d3-scale";
import { curveStepAfter, line } from "d3-shape";
import type { Frame } from "../model/frames";
import { useEffect, useRef, useState } from "preact/hooks";
import { number } from "../model/words";

interface Props {
  frames: readonly Frame[];
  maxSkew: number;
  at: number;
  onPick: (at: number) => void;
}

const WIDTH = 900;
const HEIGHT = 150;
const EDGE = { left: 34, right: 10, top: 10, bottom: 26 };

export function SkewChart({ frames, maxSkew, at, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(WIDTH);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      setWidth(Math.max(240, Math.min(WIDTH, element.clientWidth)));
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, []);
  const most = frames.reduce((a, frame) => Math.max(a, frame.skew), maxSkew);
  const x = scaleLinear([0, Math.max(1, frames.length - 1)], [EDGE.left, width - EDGE.right]);
  const y = scaleLinear([0, most * 1.1], [HEIGHT - EDGE.bottom, EDGE.top]);
  const path = line<Frame>()
    .x((_, position) => x(position))
    .y((frame) => y(frame.skew))
    .curve(curveStepAfter)([...frames]);
  const worst = frames.reduce((a, frame, position) => (frame.skew > (frames[a]?.skew ?? 0) ? position : a), 0);
  const shown = frames[at];
  const words = `Skew over ${number(frames.length - 1)} steps: largest ${number(frames[worst]?.skew ?? 0)} after step ${worst}, maxSkew ${number(maxSkew)}`;
  const ticks = y.ticks(4).filter(Number.isInteger);
  return (
    <div ref={box}>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={words}
        data-testid="skew-chart"
        onClick={(event) => {
          const edge = event.currentTarget.getBoundingClientRect();
          const position = Math.round(x.invert(((event.clientX - edge.left) / edge.width) * width));
          onPick(Math.max(0, Math.min(frames.length - 1, position)));
        }}
      >
        <title>{words}</title>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={EDGE.left} x2={width - EDGE.right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={EDGE.left - 6} y={y(tick) + 4} text-anchor="end">
              {number(tick)}
            </text>
          </g>
        ))}
        <line class="limit" x1={EDGE.left} x2={width - EDGE.right} y1={y(maxSkew)} y2={y(maxSkew)} />
        <text class="tick limit-text" x={width - EDGE.right} y={y(maxSkew) - 4} text-anchor="end">
          maxSkew {number(maxSkew)}
        </text>
        <path class="curve" d={path ?? ""} />
        <line class="now" x1={x(at)} x2={x(at)} y1={EDGE.top} y2={HEIGHT - EDGE.bottom} />
        {shown && <circle class="now-dot" cx={x(at)} cy={y(shown.skew)} r="4.5" />}
        <text class="tick" x={EDGE.left} y={HEIGHT - 8}>
          start
        </text>
        <text class="tick" x={width - EDGE.right} y={HEIGHT - 8} text-anchor="end">
          step {number(frames.length - 1)}
        </text>
      </svg>
    </div>
  );
}
