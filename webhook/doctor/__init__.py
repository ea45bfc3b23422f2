"""Diagnoses an installation of Evenkeel in a cluster; changes nothing.

``collect`` reads what the caller may read into ``Observations``; the checks are pure functions of them.
"""

from typing import Final

#: Seconds for everything that the API server itself answers. Counting the pods of a large cluster takes most.
TIMEOUT_S: Final = 30.0
