"""From a goal to constraints, with the proof."""
