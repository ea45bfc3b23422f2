"""The costs of Evenkeel: speed and memory, as ratios to a floor measured in the same run."""
