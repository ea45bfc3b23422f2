import { expect, test } from "vitest";
import type { ClusterOutcome } from "../src/api-types";
import { comparedWorkloads, differenceWords, scenarioName } from "../src/model/scenarios";

/** An outcome whose workloads have as many damages as they are given. */
function outcome(rank: number, pending: number, ...workloads: readonly (readonly [string, number])[]): ClusterOutcome {
  const found = workloads.map(([name, damages]) => ({
    kind: "Deployment",
    namespace: "shop",
    name,
    damages: Array.from({ length: damages }, () => "pending"),
  }));
  return {
    rank: [rank],
    damages: workloads.map(([name]) => `of ${name}`),
    result: { pending, workloads: found },
  } as never;
}

test.each([
  [outcome(0, 5), outcome(1, 4), "A is worse: in B 1 fewer pod fits nowhere."],
  [
    outcome(0, 0, ["web", 1]),
    outcome(-1, 3, ["web", 1], ["api", 2]),
    "B is worse: in B 3 more pods fit nowhere, and 1 more workload is damaged.",
  ],
  [outcome(0, 2), outcome(0, 2), "Both do the same damage."],
])("case %#: the difference is one sentence", (first, second, words) => {
  expect(differenceWords(["A", "B"], first, second)).toBe(words);
});

test("workloads of both scenarios come by the worse of their places, each with its damage on both sides", () => {
  const found = comparedWorkloads(
    outcome(0, 1, ["web", 1], ["api", 1], ["job", 0]),
    outcome(0, 1, ["job", 1], ["cart", 1]),
  );
  expect(found.map(({ key, first, second }) => [key.name, first?.damage, second?.damage])).toEqual([
    ["web", "of web", undefined],
    ["job", "of job", "of job"],
    ["api", "of api", undefined],
    ["cart", undefined, "of cart"],
  ]);
});

test("a scenario without a name is called what happens in it", () => {
  expect(scenarioName({ name: "", actions: [{ drain: "n1" }, { cordon: "n2" }] })).toBe("Drain n1, Cordon n2");
  expect(scenarioName({ name: "Saturday", actions: [] })).toBe("Saturday");
});
