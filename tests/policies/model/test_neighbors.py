"""The others that are found among many, held against looking at every one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from policies.model.neighbors import FEW, AppKey, CopyScope, Neighbors
from policies.model.workload import Workload
from tests.builders import a_workload
from tests.policies.model.workloads import workload_of

WEB = workload_of(a_workload())
FOLDERS = ("", "prod", "prod/web", "test")
KINSHIPS = st.builds(
    AppKey,
    name=st.integers(0, 9),
    application=st.integers(0, 9),
    scopes=st.sampled_from([(), (1,), (1, 2)]),
    stays=st.booleans(),
)
MEMBERS = st.lists(st.tuples(st.sampled_from(FOLDERS), KINSHIPS), max_size=60)


def _are_others(one: AppKey, other: AppKey) -> bool:
    shared = other.stays and set(one.scopes) & set(other.scopes)
    return bool(shared) and one.name != other.name and one.application != other.application


@given(MEMBERS, KINSHIPS)
def test_finds_others_if_there_are_any(members: list[tuple[str, AppKey]], kinship: AppKey) -> None:
    """Some are found wherever there are some, as many as are asked for, and none that is no other."""
    workloads = [(replace(WEB, folder=folder), kin) for folder, kin in members]
    expected = {(kin.name, kin.application) for _, kin in workloads if _are_others(kinship, kin)}
    kinds = {id(workload): kin for workload, kin in workloads}
    found = Neighbors(workloads).others(kinship, CopyScope("prod", ""))
    pairs = {(kinds[id(workload)].name, kinds[id(workload)].application) for workload in found}

    assert pairs <= expected
    assert min(FEW, len(expected)) == len(pairs) == len(found)


@given(MEMBERS, st.lists(KINSHIPS, min_size=1, max_size=4))
def test_does_not_depend_on_who_asked_before(
    members: list[tuple[str, AppKey]], kinships: list[AppKey]
) -> None:
    """The same are found whether or not others have asked before."""
    workloads: list[tuple[Workload, AppKey]] = [(replace(WEB, folder=folder), kin) for folder, kin in members]
    together = Neighbors(workloads)
    for kinship, folder in product(kinships, FOLDERS):
        place = CopyScope(folder, folder)

        assert Neighbors(workloads).others(kinship, place) == together.others(kinship, place)
