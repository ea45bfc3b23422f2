"""From the text of a file to plain values that know their lines: YAML as kubectl reads it, and JSON."""
