"""What Evenkeel costs: speed and memory, as ratios to a floor measured in the same run."""
