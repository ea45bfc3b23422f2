"""YAML and JSON text as one tree of nodes that knows its lines, edits in place, and field errors."""
