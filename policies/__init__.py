"""Kubernetes' spreading rules as pure functions, values in and values out.

Nothing below this package reads a clock, a file, the environment or a socket.
"""
