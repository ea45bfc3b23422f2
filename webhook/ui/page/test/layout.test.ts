import { describe, expect, test } from "vitest";
import { layOut, neighbor, placeAt, placeOf, podOffset, visibleLines } from "../src/model/layout";

const ZONES = [
  { name: "a", nodes: [0, 1, 2] },
  { name: "b", nodes: [3] },
];
const PODS = [5, 0, 9, 2];
const layout = layOut(ZONES, (node) => PODS[node] ?? 0, 700, 10);

describe("the map", () => {
  test("places every node once, in the order of its domains", () => {
    expect([...layout.order]).toEqual([0, 1, 2, 3]);
    expect(layout.rows.map((row) => row.domain.name)).toEqual(["a", "b"]);
  });

  test("finds under a pod's square the pod", () => {
    const place = placeOf(layout, 2);
    const [dx, dy] = podOffset(layout, 7);
    expect(placeAt(layout, (place?.x ?? 0) + dx + 1, (place?.y ?? 0) + dy + 1)).toMatchObject({ node: 2, pod: 7 });
  });

  test("finds nothing beside nodes", () => {
    expect(placeAt(layout, 5, 20)).toBeNull();
    expect(placeAt(layout, 699, 20)).toBeNull();
    expect(placeAt(layout, layout.left + 1, 100_000)).toBeNull();
  });

  test("draws only the lines in view", () => {
    const many = layOut([{ name: "a", nodes: Array.from({ length: 5000 }, (_, node) => node) }], () => 30, 1200, 5);
    const [from, to] = visibleLines(many, 1000, 1600);
    expect(to - from).toBeLessThan(40);
    expect(many.lines[from]?.y).toBeLessThanOrEqual(1000);
    expect((many.lines[to - 1]?.y ?? 0) + (many.lines[to - 1]?.height ?? 0)).toBeGreaterThanOrEqual(1600);
  });

  const moves: [string, number, string, number][] = [
    ["right", 0, "ArrowRight", 1],
    ["left at the start stays", 0, "ArrowLeft", 0],
    ["right at the end stays", 3, "ArrowRight", 3],
    ["down to a shorter line takes its last node", 2, "ArrowDown", 3],
    ["up", 3, "ArrowUp", 0],
    ["Home", 2, "Home", 0],
    ["End", 0, "End", 3],
  ];
  test.each(moves)("moves with the arrow keys: %s", (_name, at, key, expected) => {
    expect(neighbor(layout, at, key)).toBe(expected);
  });
});
