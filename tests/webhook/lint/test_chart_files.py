"""Files of charts, with the real helm; those that they must not have are among the hostile repositories."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.webhook.lint.charts import CHART, POD, gather, write
from webhook.lint.tool_limits import Release


def test_an_archive_as_helm_writes_it(repository: Path) -> None:
    """Helm writes an extra field into its head."""
    lib = {"lib/Chart.yaml": CHART.format(name="lib"), "lib/templates/a.yaml": POD}
    write(repository, {**lib, "lib/values.schema.json": "{}"})
    text = "dependencies: [{name: lib, version: 1.x.x, repository: 'oci://x/y'}]\n"
    write(repository, {"shop/Chart.yaml": CHART.format(name="shop") + text})
    helm = shutil.which("helm")
    assert helm
    subprocess.run([helm, "package", "lib", "-d", "shop/charts"], check=True, stdout=subprocess.DEVNULL)
    assert (repository / "shop/charts/lib-1.0.0.tgz").read_bytes()[3] & 4  # FEXTRA of RFC 1952
    texts = gather("shop", given=Release(settings=("--set=tag=1", "--set=lib.tag=2")))

    assert [] == texts.skipped
    assert {"shop/charts/lib/templates/a.yaml", "shop/templates/a.yaml"} == {
        each.file for each in texts.texts if each.rendered
    }
