"""How much time and room programs may take that are run for files of others."""

from __future__ import annotations

from typing import Final

#: Seconds that a program may take for one chart or kustomization. They take one or two.
TIMEOUT_S: Final = 60
#: Seconds of the processor that a program may take; the largest charts take two.
PROCESSOR_S: Final = 10
#: Seconds of the processor that every program of a run may take, however many there are.
ORDINARY_S: Final = 2
#: Seconds of the processor that all programs of a run may take beyond that, together.
EXTRA_S: Final = 60
#: Bytes that a program may print; the largest charts print a sixth of it.
MAX_OUTPUT: Final = 2**25
#: Bytes of address space that a program may have. Helm and kustomize reserve 0.8 GiB and seldom use 0.2 more.
MAX_MEMORY: Final = 2**31
