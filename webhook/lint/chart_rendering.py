"""Which charts are rendered, and how: as evenkeel.yaml says, as the repository installs them, or as is."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

from policies.config.lint_config import Rendering
from policies.manifests.file_name import shown_file
from policies.manifests.findings import Location
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint.charts import Helm, render_chart
from webhook.lint.discovery import CHART, Found
from webhook.lint.files import Text, absolute
from webhook.lint.gitops import Deployed, find_deployed
from webhook.lint.tool_limits import Charts, Release, ToolError

#: Where chart-testing has the values by which a chart is installed in tests, and where charts show some.
_TEST_VALUES: Final = (
    "ci/*-values.yaml", "ci/*-values.yml", "examples/*values*.yaml", "examples/*/*values*.yaml",
)  # fmt: skip
#: Files of them that are tried; charts have one to three.
MAX_TEST_VALUES: Final = 10
#: How often charts may install charts that install charts; an app of apps of apps is deep.
MAX_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendering:
    """One rendering of a chart."""

    folder: str  #: The chart.
    release: Release  #: How it is installed.
    source: Skipped  #: What is skipped if it fails, but for the reason.

    @property
    def key(self) -> tuple[str, Release]:
        """The key by which two renderings are the same."""
        return self.folder, self.release


def render_charts(found: Found, texts: Iterable[Text], charts: Charts) -> tuple[list[Text], list[Skipped]]:
    """Return the texts rendered from charts, and the charts and parts that were skipped.

    Args:
        found: Which charts there are, and which of them were given by name.
        texts: The texts that may deploy charts.
        charts: How they are rendered.
    """
    renderer = _Renderer(charts)
    own = list(find_deployed(texts))
    deployed, renderings = own, list(_renderings(found, own, charts))
    for _ in range(MAX_ROUNDS):
        # What a chart renders to may install other charts, with other values than their own.
        made = (text for each in renderings for text in renderer.texts(each))
        deployed = [*own, *find_deployed(made)]
        further = list(_renderings(found, deployed, charts))
        is_settled = {each.key for each in further} == {each.key for each in renderings}
        renderings = further
        if is_settled:
            break
    skipped = [entry for each in deployed for entry in _unread(each)]
    skipped += (entry for each in renderings for entry in renderer.skipped(each))
    return [text for each in renderings for text in renderer.texts(each)], skipped


@dataclass(slots=True)
class _Renderer:
    """Renders charts, each with the same release once."""

    charts: Charts
    _done: dict[tuple[str, Release], list[Text] | ToolError] = field(default_factory=dict)
    _tried: dict[str, str] = field(default_factory=dict)
    _helm: Helm | None = None

    def __post_init__(self) -> None:
        if program := shutil.which("helm"):
            from webhook.lint import chart_dependencies

            version = f"{self.charts.version}.0"
            self._helm = Helm(
                program=program, kube_version=version, library=chart_dependencies.ChartLibrary(program)
            )

    def texts(self, rendering: _Rendering) -> list[Text]:
        """Return the texts rendered from a chart, none if it cannot be rendered."""
        outcome = self._outcome(rendering)
        return outcome if isinstance(outcome, list) else []

    def skipped(self, rendering: _Rendering) -> Iterator[Skipped]:
        """Yield why a chart does not render, or not with its own values."""
        outcome = self._outcome(rendering)
        if rendering.release == Release() and (file := self._tried.get(rendering.folder)):
            message = f"only rendered with {shown_file(file)}, since it fails with its defaults"
            yield replace(rendering.source, reason=SkipReason.TEST_VALUES, message=message)
        if isinstance(outcome, ToolError):
            source = rendering.source
            message = f"{source.message}{outcome}"
            yield replace(source, reason=outcome.reason, message=message, needs=outcome.needs)

    def _outcome(self, rendering: _Rendering) -> list[Text] | ToolError:
        if rendering.key not in self._done:
            self._done[rendering.key] = self._render(rendering)
        return self._done[rendering.key]

    def _render(self, rendering: _Rendering) -> list[Text] | ToolError:
        if self.charts.helm is Rendering.OFF:
            return ToolError("--helm=off", SkipReason.SWITCHED_OFF)
        if self._helm is None:
            return ToolError("helm is not on the PATH", SkipReason.TOOL_MISSING)
        try:
            return self._rendered(rendering, self._helm)
        except ToolError as error:
            return error

    def _rendered(self, rendering: _Rendering, helm: Helm) -> list[Text]:
        """Return the texts rendered from a chart: by values of its own tests if its defaults fail."""
        try:
            return render_chart(rendering.folder, rendering.release, helm)
        except ToolError as error:
            if rendering.release != Release() or error.reason is not SkipReason.TOOL_FAILED:
                raise
            for file in _test_values(Path(rendering.folder)):
                with suppress(ToolError):
                    texts = render_chart(rendering.folder, Release(values=(file,)), helm)
                    self._tried[rendering.folder] = file
                    return texts
            raise


def _test_values(chart: Path) -> list[str]:
    """Return files with values that a chart's tests and examples have, those of the tests first."""
    found = (str(file) for pattern in _TEST_VALUES for file in sorted(chart.glob(pattern)))
    return list(islice(found, MAX_TEST_VALUES))


def _renderings(found: Found, deployed: list[Deployed], charts: Charts) -> Iterator[_Rendering]:
    """Yield every rendering of a chart once; one that nothing is said of is rendered with its own values."""
    by_chart: dict[Path, list[Deployed]] = {}
    for each in deployed:
        if each.chart.folder:
            by_chart.setdefault(absolute(each.chart.folder), []).append(each)
    for folder in found.charts:
        from webhook.lint import chart_files

        path = absolute(folder)
        objects = by_chart.pop(path, [])
        if chart_files.is_library(folder):
            continue
        named = path in found.given
        given = (charts.given,) if named and charts.given else charts.releases.get(path, ())
        if given or not objects:
            releases = given or (Release(),)
            yield from (_of_chart(folder, each, named=named or bool(given)) for each in releases)
        else:
            yield from _of_objects(objects)
    for objects in by_chart.values():
        yield from _of_objects(objects)


def _of_chart(folder: str, release: Release, *, named: bool) -> _Rendering:
    source = Skipped(
        location=Location(shown_file(str(Path(folder, CHART)))),
        kind=SourceKind.CHART,
        reason=SkipReason.TOOL_FAILED,
        message=f"release {release.name}: " if release.name != Release().name else "",
        named=named,
    )
    return _Rendering(folder=folder, release=release, source=source)


def _of_objects(objects: list[Deployed]) -> Iterator[_Rendering]:
    for each in {(each.chart.folder, each.chart.release): each for each in reversed(objects)}.values():
        source = each.skipped(SkipReason.TOOL_FAILED, f"chart {each.chart.folder}: ")
        yield _Rendering(folder=each.chart.folder, release=each.chart.release, source=source)


def _unread(deployed: Deployed) -> Iterator[Skipped]:
    """Yield the parts of a deployed chart that are not here."""
    if not deployed.chart.folder:
        text = "chart not in this repository"
        yield deployed.skipped(SkipReason.DOWNLOAD_NEEDED, text, deployed.chart.needs)
    if deployed.chart.unread:
        text = f"rendered without {', '.join(deployed.chart.unread)}"
        yield deployed.skipped(SkipReason.VALUES_MISSING, text)
