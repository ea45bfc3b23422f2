"""The rules: every module but ``base`` is one, with its manual, examples and tests in its docstring."""
