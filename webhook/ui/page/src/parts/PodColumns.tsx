/** The pods of a workload as the scheduler counts them: a column of squares for each domain, up to the line of maxSkew. */
import { number, printable } from "../model/words";
import { px } from "./VirtualRows";

/** Pods of one look: the class says which. */
export interface Stack {
  look: "held" | "added" | "old" | "excess" | "beyond" | "gone";
  pods: number;
}

/** A domain and its pods, from the bottom up. */
export interface Column {
  name: string;
  stacks: readonly Stack[];
}

interface Props {
  columns: readonly Column[];
  /** Domains that are left out of these. */
  others?: number;
  /** Pods without a node. */
  pending: number;
  /** The most pods of a domain, and of those without a node, that are to be seen beside these: steps have one scale. */
  most: number;
  minimum?: number;
  limit?: number;
  /** Whether maxSkew refuses nodes. */
  hard: boolean;
}

/** Pixels of the highest column, and of a pod with the gap to the next. */
const HEIGHT = 132;
const PITCH = 18;
/** Pixels of a pod below which pods are no squares of their own. */
const LEAST_PITCH = 5;
/** Domains that have room for their names below their columns; the numbers of more are looked up. */
export const NAMED = 8;

export function PodColumns({ columns, others = 0, pending, most, minimum, limit, hard }: Props) {
  const highest = Math.max(most, pending, limit !== undefined && limit <= 2 * most + 4 ? limit : 0, 1);
  const pitch = Math.min(PITCH, HEIGHT / highest);
  const named = columns.length <= NAMED;
  const at = (pods: number): string => px(Math.round(pods * pitch * 10) / 10);
  return (
    <div
      class={`columns ${named ? "named" : ""} ${pitch >= LEAST_PITCH ? "squares" : ""}`}
      style={{ "--pitch": px(pitch) }}
      aria-hidden="true"
      data-testid="columns"
    >
      <div class="columns-plot" style={{ height: at(highest) }}>
        {columns.map(({ name, stacks }) => (
          <div key={name} class="column" title={`${printable(name)}: ${number(held(stacks))}`}>
            {stacks.map(({ look, pods }) => (
              <i key={look} class={`stack-${look}`} style={{ height: at(pods) }} />
            ))}
          </div>
        ))}
        {pending > 0 && (
          <div class="column" title={`No node: ${number(pending)}`} data-testid="ghosts">
            <i class="stack-ghost" style={{ height: at(pending) }} />
          </div>
        )}
        {minimum !== undefined && minimum > 0 && <hr class="at-minimum" style={{ bottom: at(minimum) }} />}
        {limit !== undefined && limit <= highest && (
          <hr class={hard ? "at-limit" : "at-limit soft"} style={{ bottom: at(limit) }} />
        )}
      </div>
      <div class="columns-names">
        {named && columns.map(({ name }) => <span key={name}>{name === "" ? "(empty)" : printable(name)}</span>)}
        {!named && <span class="columns-span">{spanOf(columns, others)}</span>}
        {pending > 0 && <span class="tone-error">no node</span>}
      </div>
    </div>
  );
}

function held(stacks: readonly Stack[]): number {
  return stacks.reduce((sum, { look, pods }) => sum + (look === "gone" ? 0 : pods), 0);
}

function spanOf(columns: readonly Column[], others: number): string {
  return others > 0
    ? `${number(columns.length)} of ${number(columns.length + others)} domains`
    : `${number(columns.length)} domains`;
}
