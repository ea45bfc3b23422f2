import { expect, test } from "vitest";
import type { Outcome } from "../src/api-types";
import type { Cause } from "../src/model/outcome";
import { comparedWorkloads, differenceWords, scenarioName } from "../src/model/scenarios";

/** An outcome with a cause, whose workloads have as many pending pods as they are given. */
function outcome(cause: Cause, ...workloads: readonly (readonly [string, number])[]): Outcome {
  const found = workloads.map(([name, pending]) => ({
    kind: "Deployment",
    namespace: "shop",
    name,
    pending,
    verdicts: [{ cause: pending ? "pending" : "fits", value: pending === 0 }],
  }));
  return { verdict: { cause }, workloads: found } as never;
}

test.each([
  [outcome("down", ["web", 5]), outcome("pending", ["web", 4]), "A is worse: in B 1 fewer pod fits nowhere."],
  [
    outcome("pending", ["web", 1]),
    outcome("pending", ["web", 1], ["api", 3]),
    "B is worse: in B 3 more pods fit nowhere, and 1 more workload is not well.",
  ],
  [outcome("pending", ["web", 2]), outcome("pending", ["web", 2]), "Both do the same damage."],
])("case %#: the difference is one sentence", (first, second, words) => {
  expect(differenceWords(["A", "B"], first, second)).toBe(words);
});

test("workloads of both scenarios come by the worse of their places", () => {
  const found = comparedWorkloads(
    outcome("pending", ["web", 1], ["api", 1], ["job", 0]),
    outcome("pending", ["job", 1], ["cart", 1]),
  );
  expect(found.map(({ key, first, second }) => [key.name, first?.pending, second?.pending])).toEqual([
    ["web", 1, undefined],
    ["job", 0, 1],
    ["api", 1, undefined],
    ["cart", undefined, 1],
  ]);
});

test("a scenario without a name is called what happens in it", () => {
  expect(scenarioName({ name: "", actions: [{ drain: "n1" }, { cordon: "n2" }] })).toBe("Drain n1, Cordon n2");
  expect(scenarioName({ name: "Saturday", actions: [] })).toBe("Saturday");
});
