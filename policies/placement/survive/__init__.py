"""The effect of the loss of any one domain on workloads, and changes that would help."""
