"""What the linter reads: files, charts and kustomizations; and its run over them."""
