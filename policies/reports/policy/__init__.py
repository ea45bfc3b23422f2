"""Checks, emitted objects and previews of ``evenkeel policy``, one module per output format."""
