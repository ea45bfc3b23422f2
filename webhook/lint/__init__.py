"""The linter's input: files, charts and kustomizations; and its run over them."""
