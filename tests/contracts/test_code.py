"""Promises about the code as a whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path.relative_to(ROOT)
    for package in ("certs", "policies", "webhook")
    for path in (ROOT / package).rglob("*.py")
    if "node_modules" not in path.parts
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_modules_say_their_job(module: Path) -> None:
    """Every module has a docstring, and a package holds nothing else, so a name has one import path."""
    tree = ast.parse((ROOT / module).read_text())

    assert ast.get_docstring(tree)
    assert module.name != "__init__.py" or 1 == len(tree.body)


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.name not in ("__init__.py", "__main__.py")], ids=str
)
def test_tests_mirror_the_source(module: Path) -> None:
    """The tests of a module stand where its name says, unless others use it up."""
    mirrored = Path("tests") / module.with_name(f"test_{module.name}")
    # The tests of a rule are the examples of its docstring, whether or not it has a table too.
    elsewhere = RULE_TESTS if module.parent == RULES and module.name != "base.py" else mirrored

    assert (ROOT / TESTED_ELSEWHERE.get(module.as_posix(), elsewhere)).exists()


def test_a_public_class_name_is_used_once() -> None:
    """A class is found by its name; only the settings of each rule are called the same in each of them."""
    places = defaultdict(list)
    for module in MODULES:
        for node in ast.parse((ROOT / module).read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.as_posix())
    repeated = {name for name, modules in places.items() if len(modules) > 1}

    assert {"Params"} == repeated


@pytest.mark.parametrize("package", ["certs", "policies", "webhook"])
def test_no_modules_import_each_other(package: str) -> None:
    """Imports go one way between modules too, also those that only types need and those within functions."""
    modules = {
        ".".join(module.with_suffix("").parts): module
        for module in MODULES
        if module.parts[0] == package and module.name != "__init__.py"
    }
    # Raises an error that names the circle.
    TopologicalSorter({name: set(_imports(module, modules)) for name, module in modules.items()}).prepare()


def _imports(module: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of a package that one of them imports, wherever the import is."""
    for node in ast.walk(ast.parse((ROOT / module).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            yield from named or {node.module} & known.keys()


#: The folder of the rules, and what runs the examples of them all.
RULES, RULE_TESTS = Path("policies/rules"), Path("tests/policies/rules/test_manuals.py")
#: Modules without tests of their own, and the tests that use them up.
TESTED_ELSEWHERE = {
    "policies/model/replica_number.py": "tests/policies/model/test_replica_sources.py",
    "webhook/cli/cluster_workloads.py": "tests/webhook/cli/test_audit.py",
    "webhook/cli/manifest_options.py": "tests/webhook/cli/test_lint.py",
    "webhook/cli/plan_from.py": "tests/webhook/cli/test_plan.py",
    "webhook/lint/plan_sets.py": "tests/webhook/cli/test_plan.py",
    "webhook/cli/placement_options.py": "tests/webhook/cli/test_placement.py",
    "policies/config/build_document.py": "tests/policies/config/test_loader.py",
    "policies/emit/constraint_lists.py": "tests/policies/emit/test_validating.py",
    "policies/emit/emit.py": "tests/policies/emit/test_validating.py",
    "policies/emit/emitted.py": "tests/policies/emit/test_validating.py",
    "policies/emit/scope.py": "tests/policies/emit/test_validating.py",
    "policies/emit/variables.py": "tests/policies/emit/test_validating.py",
    "policies/reports/policy_emit_json.py": "tests/webhook/cli/test_policy_emit.py",
    "policies/reports/policy_emit_yaml.py": "tests/webhook/cli/test_policy_emit.py",
    "policies/config/context_loader.py": "tests/webhook/admission/test_context.py",
    "policies/config/lint_config.py": "tests/policies/config/test_lint_config_loader.py",
    "policies/manifests/kustomize_layers.py": "tests/policies/manifests/test_origins.py",
    "policies/model/container_needs.py": "tests/policies/scheduler/test_profile.py",
    "policies/model/interpod_terms.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/holdings.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/image_table.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/normalize.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/plugins/imagelocality.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/plugins/interpodaffinity.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/plugins/nodeports.py": "tests/policies/scheduler/test_profile.py",
    "policies/scheduler/columns.py": "tests/policies/scheduler/test_index.py",
    "policies/scheduler/plugins/podtopologyspread/counting.py": (
        "tests/policies/scheduler/plugins/podtopologyspread/test_filtering.py"
    ),
    "policies/scheduler/plugins/podtopologyspread/plugin.py": "tests/policies/scheduler/test_evaluate.py",
    "policies/scheduler/node_table.py": "tests/policies/scheduler/test_index.py",
    "policies/scheduler/node_view.py": "tests/policies/scheduler/plugins/test_nodeaffinity.py",
    "policies/scheduler/pod_table.py": "tests/policies/scheduler/test_index.py",
    "policies/scheduler/rejections.py": "tests/policies/scheduler/test_explanation.py",
    "policies/scheduler/domain_stats.py": "tests/policies/scheduler/test_explanation.py",
    "policies/scheduler/result.py": "tests/policies/scheduler/test_evaluate.py",
    "webhook/cli/certs_target.py": "tests/webhook/cli/test_certs_show.py",
    "webhook/cli/completing.py": "tests/webhook/cli/test_completion.py",
    "policies/admission/decision.py": "tests/policies/admission/test_validation.py",
    "policies/manifests/errors.py": "tests/webhook/cli/test_main.py",
    "policies/lint/workload_loader.py": "tests/policies/lint/test_run.py",
    "policies/placement/suggestion_edits.py": "tests/policies/placement/test_suggestions.py",
    "policies/reports/advise_words.py": "tests/policies/reports/test_advise_text.py",
    "policies/placement/explain.py": "tests/policies/reports/test_explain_json.py",
    "policies/model/api_rules.py": "tests/policies/model/test_validation.py",
    "policies/model/topology_keys.py": "tests/policies/rules/test_topology_key_deprecated.py",
    "policies/reports/domain_bars.py": "tests/policies/reports/test_explain_text.py",
    "policies/reports/suggestion_cost.py": "tests/policies/reports/test_explain_text.py",
    "policies/reports/suggestion_text.py": "tests/policies/reports/test_explain_text.py",
    "policies/reports/constraint_text.py": "tests/policies/reports/test_explain_text.py",
    "policies/reports/lint_report.py": "tests/policies/reports/test_lint_json.py",
    "policies/reports/audit_answer.py": "tests/policies/reports/test_audit_json.py",
    "policies/reports/advise_answer.py": "tests/policies/reports/test_generate_schemas.py",
    "policies/reports/deletion_costs_answer.py": "tests/policies/reports/test_generate_schemas.py",
    "policies/reports/rebalance_answer.py": "tests/policies/reports/test_generate_schemas.py",
    "policies/reports/release_diff_answer.py": "tests/policies/reports/test_generate_schemas.py",
    "policies/reports/survive_answer.py": "tests/policies/reports/test_generate_schemas.py",
    "policies/reports/wording.py": "tests/policies/reports/test_explain_text.py",
    "policies/manifests/block_edits.py": "tests/policies/manifests/test_rewrite.py",
    "policies/manifests/flow_edits.py": "tests/policies/manifests/test_rewrite.py",
    "webhook/kube/backoff.py": "tests/webhook/kube/test_reflector.py",
    "webhook/kube/kind_record.py": "tests/webhook/kube/test_reflector.py",
    "webhook/cli/lint_progress.py": "tests/webhook/cli/test_lint.py",
    "policies/manifests/node_builder.py": "tests/policies/manifests/test_nodes.py",
    "webhook/cli/answers.py": "tests/webhook/cli/test_explain.py",
    "webhook/cli/manifest.py": "tests/webhook/cli/test_placement.py",
    "webhook/lint/config_paths.py": "tests/security/test_untrusted_repositories.py",
    "webhook/rbac.py": "tests/deploy/test_access.py",
    "webhook/cli/serve.py": "tests/webhook/test_server.py",
    "policies/reports/explain_answer.py": "tests/webhook/http/test_openapi.py",
    "policies/reports/audit_wording.py": "tests/policies/reports/test_audit_text.py",
    "policies/reports/simulate_answer.py": "tests/webhook/http/test_openapi.py",
    "policies/reports/what_if_answer.py": "tests/webhook/http/test_openapi.py",
    "policies/placement/choices.py": "tests/policies/placement/test_courses.py",
    "policies/placement/deployment_controller.py": "tests/policies/placement/test_rollout.py",
    "policies/placement/replica_pods.py": "tests/policies/placement/test_rollout.py",
    "policies/placement/running_pods.py": "tests/policies/placement/test_rollout.py",
    "policies/reports/rollout_answer.py": "tests/webhook/http/test_openapi.py",
    "policies/reports/rollout_json.py": "tests/policies/reports/test_rollout_text.py",
    "policies/reports/rollout_trace.py": "tests/policies/reports/test_rollout_text.py",
    "policies/reports/rollout_words.py": "tests/policies/reports/test_rollout_text.py",
    "policies/reports/kubectl.py": "tests/webhook/cli/test_suggestion.py",
    "policies/placement/replica_set_owner.py": "tests/webhook/ui/test_workload_detail.py",
    "webhook/ui/answers.py": "tests/webhook/ui/test_routes.py",
    "webhook/ui/bundle.py": "tests/webhook/ui/test_app.py",
    "webhook/ui/cluster.py": "tests/webhook/ui/test_cluster_map.py",
    "webhook/ui/manifest.py": "tests/webhook/ui/test_editing.py",
    "webhook/ui/node_detail.py": "tests/webhook/ui/test_routes.py",
    "webhook/ui/page_state.py": "tests/webhook/ui/test_server.py",
    "webhook/ui/remote.py": "tests/webhook/cli/test_ui_cluster.py",
    "webhook/ui/placing.py": "tests/webhook/ui/test_routes.py",
    "webhook/http/scoring/simulated.py": "tests/webhook/http/scoring/test_simulate_request.py",
    "policies/reports/suggestion_answer.py": "tests/webhook/http/test_openapi.py",
    "policies/reports/score_answer.py": "tests/webhook/http/test_openapi.py",
    "webhook/admission/answer.py": "tests/webhook/http/test_openapi.py",
    "webhook/http/api.py": "tests/webhook/http/test_openapi.py",
    "webhook/http/api_routes.py": "tests/webhook/http/test_openapi.py",
    "webhook/gunicorn/application.py": "tests/webhook/test_server.py",
    "webhook/http/body.py": "tests/webhook/http/test_admission.py",
    "webhook/http/problems.py": "tests/webhook/gunicorn/test_protocol.py",
    "webhook/http/application.py": "tests/webhook/http/test_flask_app.py",
    "webhook/http/views/current_state.py": "tests/webhook/http/test_flask_app.py",
    "webhook/http/views/operation.py": "tests/webhook/http/test_flask_app.py",
    "webhook/lint/charts.py": "tests/webhook/lint/test_inputs.py",
    "policies/reports/conformance_wording.py": "tests/policies/reports/test_conformance_text.py",
    "policies/reports/conformance_json.py": "tests/policies/reports/test_conformance_text.py",
    "webhook/conformance/implementation.py": "tests/webhook/conformance/test_run_cases.py",
    "policies/model/late_fields.py": "tests/policies/rules/test_field_not_in_release.py",
    "policies/model/pod_reading.py": "tests/policies/scheduler/plugins/test_noderesources.py",
    "policies/reports/preview_json.py": "tests/policies/reports/test_preview_text.py",
    "policies/reports/preview_run.py": "tests/policies/reports/test_preview_text.py",
    "webhook/lint/kustomizations.py": "tests/webhook/lint/test_inputs.py",
}
