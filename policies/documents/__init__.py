"""The SpreadPolicy document: its types, its JSON Schema, its scope, and how it is loaded."""
