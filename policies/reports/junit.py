"""JUnit XML for CI systems: suites of cases, each of which passes, fails, is skipped or an error."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from policies.manifests.sanitize import one_line
from policies.manifests.skipped import SkipReason

#: The numbers of a suite, and the elements that each counts.
_COUNTED = {"tests": "testcase", "failures": "failure", "skipped": "skipped", "errors": "error"}


def new_report(command: str) -> ET.Element:
    """Return the root of the report of a command, which has no suite yet."""
    return ET.Element("testsuites", name=f"evenkeel {command}")


def add_suite(root: ET.Element, name: str) -> ET.Element:
    """Add a suite, which has no case yet; CI systems take one that stays so for a mistake."""
    return ET.SubElement(root, "testsuite", name=one_line(name))


def add_case(suite: ET.Element, name: str, whose: str) -> ET.Element:
    """Add a case, which passes as it is."""
    return ET.SubElement(suite, "testcase", name=one_line(name), classname=one_line(whose))


def add_skipped(suite: ET.Element, name: str, whose: str, why: str) -> None:
    """Add a case that was not judged."""
    ET.SubElement(add_case(suite, name, whose), "skipped", message=one_line(why))


def add_error(suite: ET.Element, name: str, whose: str, why: str, kind: str = SkipReason.UNREADABLE) -> None:
    """Add a case that could not be judged, which the run fails by."""
    ET.SubElement(add_case(suite, name, whose), "error", type=kind, message=one_line(why))


def fail(case: ET.Element, kind: str, message: str, text: str = "") -> None:
    """Let a case fail; JUnit knows one failure of each, so the text has all there is to say."""
    failure = ET.SubElement(case, "failure", type=kind, message=one_line(message))
    failure.text = text or None


def warn(case: ET.Element, text: str) -> None:
    """Add what should be known of a case, whether it passes or not."""
    ET.SubElement(case, "system-out").text = text


def render(root: ET.Element) -> str:
    """Return a report as XML, with the numbers that readers expect on every suite, and on all together."""
    for suite in (*root, root):
        for name, tag in _COUNTED.items():
            suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
