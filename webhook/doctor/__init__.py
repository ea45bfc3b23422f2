"""Looks at an installation in a cluster and says what is wrong with it; changes nothing.

``gathering`` reads what the caller may read into ``facts``; checks are pure functions on them.
"""
