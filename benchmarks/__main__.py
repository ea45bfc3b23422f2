"""Run every benchmark; figures are worth reading as ratios to the floor beside them."""

from __future__ import annotations

from benchmarks import (
    advise,
    audit,
    autoscale,
    beside_dearest,
    browser,
    commands,
    crowd,
    engine,
    following,
    heavy,
    hostile_files,
    lint,
    memory,
    page,
    pending,
    policies,
    preview,
    review,
    rollout,
    served_reviews,
    serving,
    shapes,
    simulate,
    skew,
    slow_clients,
    snapshot,
    survive,
    survive_all,
    volumes,
)

if __name__ == "__main__":
    engine.run()
    simulate.run()
    rollout.run()
    audit.run()
    autoscale.run()
    survive.run()
    survive_all.run()
    advise.run()
    page.run()
    browser.run()
    snapshot.run()
    following.run()
    volumes.run()
    pending.run()
    skew.run()
    lint.run()
    commands.run()
    crowd.run()
    review.run()
    policies.run()
    preview.run()
    shapes.run()
    beside_dearest.run()
    hostile_files.run()
    serving.run()
    served_reviews.run()
    heavy.run()
    slow_clients.run()
    memory.run()
