"""Diagnoses an installation of Evenkeel in a cluster; changes nothing.

``collect`` reads what the caller may read into ``Observations``; the checks are pure functions of them.
"""
