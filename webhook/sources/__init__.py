"""What a command is given to read: files, folders, standard input, charts, kustomizations. No rules in it."""
