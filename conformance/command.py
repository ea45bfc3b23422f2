"""``evenkeel conformance``: runs the corpus against this engine or another implementation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from conformance.feature import FEATURES_BY_ID
from policies.manifests.errors import UsageError
from policies.manifests.file_name import STDIN
from policies.manifests.sanitize import one_line
from webhook.cli.answers import print_answer
from webhook.cli.command import Command
from webhook.cli.live import api_server
from webhook.cli.options import answer_option, context_option
from webhook.cli.terminal import ExitCode, finish, note, progress

if TYPE_CHECKING:
    from conformance import case as conformance_case
    from conformance import corpus as conformance_corpus
    from conformance import run as conformance_run
    from conformance.implementation import Implementation


#: Bytes of a token; tokens of Kubernetes have about a thousand.
_MOST_TOKEN_BYTES: Final = 65536
#: Cases that a cluster is asked unless --sample or --shard says how many: some ten minutes.
_USUAL_SAMPLE: Final = 400
#: How URLs begin; anything else is a command.
_SCHEMES: Final = ("http://", "https://")
_EXAMPLES: Final = """\
evenkeel conformance
evenkeel conformance --against 'evenkeel score --jsonl'
evenkeel conformance --against './simulator --stdin' --feature KEP-895 --feature KEP-3022
evenkeel conformance --against https://127.0.0.1:8443/v1/score --ca-file ca.crt --token-file token
evenkeel conformance --case spread-00012 --print | jq .request
evenkeel conformance --cluster-under-test --context kind-test
evenkeel conformance --cluster-under-test --context kind-test --shard 1/8
"""


@click.command(cls=Command, examples=_EXAMPLES)
@click.option(
    "--against",
    default="",
    metavar="URL|COMMAND",
    help="Implementation to test: a URL that score requests are posted to, or a command that reads one "
    "request per line and writes one answer per line.  [default: this engine]",
)
@click.option(
    "--simulate-against",
    default="",
    metavar="COMMAND",
    help="Command that answers simulate requests in the same way.  [default: for a URL that ends in "
    "/score, /simulate beside it]",
)
@click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="ID",
    type=click.Choice(list(FEATURES_BY_ID)),
    help=f"Run only the cases of this feature: {', '.join(FEATURES_BY_ID)}; may be repeated.",
)
@click.option("--case", "ids", multiple=True, metavar="ID", help="Run only this case; may be repeated.")
@click.option(
    "--corpus",
    "path",
    default="",
    metavar="PATH",
    help="Folder with a corpus.json, or a file of cases.  [default: the corpus of this release]",
)
@click.option("--print", "printing", is_flag=True, help="Print the cases, one per line, and run nothing.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for each answer.",
)
@click.option("--token-file", default="", metavar="FILE", help="Bearer token for the URL; - for stdin.")
@click.option(
    "--ca-file", default="", metavar="FILE", help="CA certificates for the URL.  [default: the system's]"
)
@click.option(
    "--cluster-under-test",
    is_flag=True,
    help="Test a real kube-scheduler instead, with the objects of each case in a live cluster without nodes "
    "of its own, and compare its decisions with this engine's, too.",
)
@context_option()
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="NUMBER",
    help=f"Cases that are drawn for the cluster.  [default: {_USUAL_SAMPLE}, or all of a --shard]",
)
@click.option("--seed", type=int, metavar="S", help="Seed of the draw.  [default: 0]")
@click.option("--shard", default="", metavar="PART/COUNT", help="Part of the cases, such as 1/8.")
@answer_option()
def command(
    *,
    cluster_under_test: bool,
    context: str,
    sample: int | None,
    seed: int | None,
    shard: str,
    against: str,
    simulate_against: str,
    features: tuple[str, ...],
    ids: tuple[str, ...],
    path: str,
    printing: bool,
    timeout: float,
    token_file: str,
    ca_file: str,
    form: str,
) -> None:
    """Test a model of kube-scheduler against recorded answers of kube-scheduler.

    The corpus has requests as for POST /v1/score and POST /v1/simulate, each with what is known of
    kube-scheduler's answer. What an implementation does not answer is counted and does not fail.

    Exit codes: 0 nothing failed, 1 some case failed, 2 bad usage or an unreadable corpus, 3 the
    implementation cannot be reached, ended, or answers nothing that can be compared.
    """
    from conformance import corpus as conformance_corpus

    corpus = conformance_corpus.open_corpus(path)
    wanted = frozenset(features)
    count = _count(corpus, wanted, ids)
    chosen = _chosen(corpus, wanted, ids)
    if printing:
        for line, _ in chosen:
            click.echo(line.rstrip(b"\n"))
        return
    from conformance import case as conformance_case
    from conformance import cluster_sample, engine, line_command
    from conformance import cluster_under_test as live_cluster
    from conformance import run as conformance_run
    from webhook.kube import api_server as cluster_api

    _check_options(against, simulate_against, token_file, ca_file)
    _check_cluster_options(
        cluster_under_test,
        {"--against": against},
        {"--context": context, "--sample": sample, "--seed": seed, "--shard": shard},
    )
    with ExitStack() as stack:
        others: list[conformance_run.CaseResult] = []
        if cluster_under_test:
            part = cluster_sample.parse_shard(shard or "1/1")
            api = api_server(context)
            version = cluster_api.kubernetes_version(api)
            drawn, others = cluster_sample.draw(
                (case for _, case in chosen),
                version,
                size=sample or (None if shard else _USUAL_SAMPLE),
                seed=seed or 0,
                shard=part,
            )
            count = len(drawn)
            chosen = (entry for entry in _chosen(corpus, wanted, ids) if entry[1].id in drawn)
            tested: Implementation = live_cluster.ClusterUnderTest(
                api, timeout_s=timeout, title=f"kube-scheduler {version.exact} of {api.url}"
            )
        else:
            tested = _tested(against, token_file, ca_file, timeout)
        stack.enter_context(closing(tested))
        answering = dict.fromkeys(tested.operations, tested)
        if simulate_against:
            simulating = line_command.LineCommand(
                simulate_against, conformance_case.Operation.SIMULATE, timeout_s=timeout
            )
            answering[conformance_case.Operation.SIMULATE] = stack.enter_context(closing(simulating))
        run = conformance_run.ConformanceRun(
            target=tested.title, corpus=f"Conformance {corpus.title}", chosen=wanted
        )
        with progress("Running the corpus", long=True) as show:
            conformance_run.run_cases(
                (case for _, case in chosen),
                answering,
                run,
                lambda: show(run.total.total() / count),
                engine=engine.Engine() if cluster_under_test else None,
            )
        for result in others:
            run.add(result)
    if form == "text":
        from conformance import report_text

        click.echo(report_text.render(run), nl=False)
    else:
        from conformance import report_json

        print_answer(report_json.render(run).encode(), form)
    if run.stopped and form != "text":
        note(run.stopped)
    finish(ExitCode.CANNOT_RUN if run.stopped else ExitCode.FINDINGS if run.failed else ExitCode.CLEAN)


def _tested(against: str, token_file: str, ca_file: str, timeout_s: float) -> Implementation:
    """Return the implementation under test.

    Raises:
        OSError: A file cannot be read.
        UsageError: There is no such command or URL.
    """
    if against.startswith(_SCHEMES):
        from conformance import endpoint

        return endpoint.Endpoint(
            against, token=_token(token_file), ca_file=ca_file or None, timeout_s=timeout_s
        )
    from conformance import case as conformance_case
    from conformance import engine, line_command

    return (
        line_command.LineCommand(against, conformance_case.Operation.SCORE, timeout_s=timeout_s)
        if against
        else engine.Engine()
    )


def _check_options(against: str, simulate_against: str, token_file: str, ca_file: str) -> None:
    """Make sure that the options go together.

    Raises:
        UsageError: They do not.
    """
    if simulate_against and not against:
        raise UsageError("--simulate-against may only be set with --against")
    if "://" in against.partition(" ")[0] and not against.startswith(_SCHEMES):
        raise UsageError(f"--against: {one_line(against)}: must be a command or a URL with http or https")
    if simulate_against.startswith(_SCHEMES):
        raise UsageError("--simulate-against must be a command; for a URL, --against .../score is enough")
    for name, value in (("--token-file", token_file), ("--ca-file", ca_file)):
        if value and not against.startswith(_SCHEMES):
            raise UsageError(f"{name} may only be set with --against URL")


def _check_cluster_options(
    cluster: bool,  # noqa: FBT001  # it is the option
    others: Mapping[str, object],
    own: Mapping[str, object],
) -> None:
    """Make sure that the options of a cluster go with it, and those of other implementations do not.

    Raises:
        UsageError: They do not go together.
    """
    for name, value in (others if cluster else own).items():
        if value not in ("", None):
            how = "not be set" if cluster else "only be set"
            raise UsageError(f"{name} may {how} with --cluster-under-test")


def _chosen(
    corpus: conformance_corpus.Corpus, features: frozenset[str], ids: tuple[str, ...]
) -> Iterator[tuple[bytes, conformance_case.ConformanceCase]]:
    """Yield the cases that the options choose, with their lines."""
    return (
        (line, case)
        for line, case in corpus.cases()
        if (not features or features.intersection(case.features)) and (not ids or case.id in ids)
    )


def _count(corpus: conformance_corpus.Corpus, features: frozenset[str], ids: tuple[str, ...]) -> int:
    """Return how many cases are chosen; every problem of the corpus is found before a request is sent.

    Raises:
        DocumentError: The corpus is not what it should be.
        UsageError: A chosen case does not exist, or none is left.
    """
    found = {case.id for _, case in _chosen(corpus, features, ids)}
    if missing := [case for case in ids if case not in found]:
        raise UsageError(f"--case: not found in {corpus.title}: {one_line(', '.join(missing))}")
    if not found:
        raise UsageError(f"no case of {corpus.title} is chosen")
    return len(found)


def _token(path: str) -> str:
    """Return the token in a file; empty for no file.

    Raises:
        OSError: The file cannot be read.
        UsageError: It has no token.
    """
    if not path:
        return ""
    raw = sys.stdin.buffer.read(_MOST_TOKEN_BYTES) if path == STDIN else _read(path)
    token = raw.strip()
    if not token or not all(0x21 <= byte <= 0x7E for byte in token):
        raise UsageError(f"--token-file: {path}: must have one token, without spaces")
    return token.decode()


def _read(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_MOST_TOKEN_BYTES)
