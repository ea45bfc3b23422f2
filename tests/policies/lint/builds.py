"""Objects that kustomize built, for tests: a base, a patch in a component, and what overlays make of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from policies.manifests.documents import load, objects
from policies.manifests.fields import FieldPath
from policies.manifests.kustomize_layers import Inline, Layer
from policies.manifests.origins import BuiltObject, Origin

OLD_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
#: The overlays' resource.
BASE = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      topologySpreadConstraints:
      - topologyKey: {OLD_ZONE}  # old
        whenUnsatisfiable: ScheduleAnyway
        maxSkew: 1
        labelSelector: {{matchLabels: {{app: web}}}}
"""
#: A patch that adds a constraint, as it stands in a kustomization.
PATCH = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}

spec: {{template: {{spec: {{topologySpreadConstraints: [
  {{topologyKey: {OLD_ZONE}, whenUnsatisfiable: DoNotSchedule, maxSkew: 1,
   labelSelector: {{matchLabels: {{app: web}}}}}}]}}}}}}
"""
COMPONENT = (
    "kind: Component\npatches:\n# why\n- patch: |\n"
    + "".join(f"    {line}\n" if line else "\n" for line in PATCH.splitlines())
    + "  target: {kind: Deployment}\n"
)
FILES = {"base/web.yaml": BASE.encode(), "comp/kustomization.yaml": COMPONENT.encode()}
_PATCH_PATH = FieldPath(("patches", 0, "patch"))


def spread(value: dict[str, Any]) -> Any:
    """Return the constraints of a Deployment."""
    return value["spec"]["template"]["spec"]["topologySpreadConstraints"]


def a_build(overlay: str, *, patched: bool = False, **metadata: Any) -> BuiltObject:
    """Return the build of an overlay of the base, perhaps with the component's patch."""
    base = load(BASE, "base/web.yaml")[0]
    layers, value = [Layer(base, FieldPath())], deepcopy(base.value)
    if patched:
        component = load(COMPONENT, "comp/kustomization.yaml")[0]
        patch = load(PATCH, "comp/kustomization.yaml", lines_before=component.line_of(_PATCH_PATH))[0]
        inline = Inline(component, _PATCH_PATH, is_block=True)
        layers.append(Layer(patch, FieldPath(), is_patch=True, inline=inline))
        spread(value)[:0] = deepcopy(spread(patch.value))
    value["metadata"] = {"name": f"{overlay}-web"} | metadata
    file = f"{overlay}/kustomization.yaml"
    (manifest,) = objects(load(str(value).replace("'", '"'), file)[0])
    origin = Origin(build=file, value=value, find_layers=lambda: layers, count_builds=lambda _file: 2)
    return BuiltObject(value, FieldPath(), manifest.document, origin)
