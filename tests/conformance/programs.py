"""Small programs that answer score requests, well and badly."""

from __future__ import annotations

import shlex
import sys

#: The beginning of every program.
_HEAD = """
import json, os, sys, time
def say(text):
    print(text, flush=True)
"""

PROGRAMS = {
    "right": """
for line in sys.stdin:
    pod = json.loads(line)["pod"]
    say(json.dumps({"preFilter": "Skip", "echo": pod}))
""",
    "echo": "for line in sys.stdin: say(line.strip())",
    "ends at once": "",
    "ends in the middle": "sys.stdin.readline(); say('{}'); sys.stdin.readline(); sys.exit(7)",
    "killed in the middle": "sys.stdin.readline(); say('{}'); sys.stdin.readline(); os.kill(os.getpid(), 9)",
    "hangs": "time.sleep(60)",
    "hangs in the middle": "sys.stdin.readline(); say('{}'); time.sleep(60)",
    "answers at the end": "[say('{}') for _ in sys.stdin.readlines()]",
    "without end": "while True: say('y')",
    "two lines": "for line in sys.stdin: say('{}\\n{}')",
    "speaks first": "say('hello'); sys.stdin.readline(); time.sleep(60)",
    "endless line": "sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)",
    "closes its output": "os.close(1); time.sleep(60)",
    "does not read": "say('{}'); time.sleep(60)",
}


def command_of(name: str) -> str:
    """Return the command of a program."""
    return shlex.join([sys.executable, "-c", _HEAD + PROGRAMS[name]])
