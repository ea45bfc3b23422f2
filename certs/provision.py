"""Fill a folder with an authority and a serving certificate: decide first, then do.

What is there already is never replaced unless the caller says so, and an authority is kept only when asked
for: a silent new one would cut off every cluster that trusts the old one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from certs import store
from certs.ca import CA_LIFETIME, create_ca
from certs.errors import CAError, ExistingFilesError
from certs.issue import SERVING_LIFETIME, issue
from certs.keypair import KeyPair
from certs.names import SubjectNames, parse_hosts

#: What a self-signed server is called besides what its caller adds: this machine, by every name it has.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

#: The files of the authority.
_AUTHORITY_FILES = frozenset({store.AUTHORITY_CERTIFICATE, store.AUTHORITY_KEY})
#: The files of the serving certificate.
_SERVING_FILES = frozenset({store.SERVING_CERTIFICATE, store.SERVING_KEY})


class Action(StrEnum):
    """What to do with a folder."""

    CREATE_ALL = "create-all"
    ISSUE_SERVING = "issue-serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a folder shall hold.

    Attributes:
        names: The names of the serving certificate.
        lifetime: How long the serving certificate is valid.
        authority_lifetime: How long a new authority is valid.
        reuse_authority: Sign with the authority that is in the folder.
        overwrite: Replace files that are in the folder.
    """

    names: SubjectNames
    lifetime: timedelta = SERVING_LIFETIME
    authority_lifetime: timedelta = CA_LIFETIME
    reuse_authority: bool = False
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What a folder holds now."""

    action: Action
    authority: KeyPair
    serving: KeyPair


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfSignedFiles:
    """Where a self-signed pair is, and the authority's certificate that clients can trust."""

    authority: Path
    certificate: Path
    key: Path


def plan(existing: Collection[str], folder: Path, *, request: Request) -> Action:
    """Decide what to make in a folder. Pure.

    Args:
        existing: Which of the store's file names are there.
        folder: Where; only for messages.
        request: What is asked for.

    Raises:
        CAError: The authority to reuse is not there.
        ExistingFilesError: A file would be replaced that must not be.
    """
    action = Action.ISSUE_SERVING if request.reuse_authority else Action.CREATE_ALL
    if action is Action.ISSUE_SERVING:
        _require_authority(existing, folder)
    targets = _SERVING_FILES | (_AUTHORITY_FILES if action is Action.CREATE_ALL else frozenset())
    occupied = sorted(targets.intersection(existing))
    if occupied and not request.overwrite:
        files = ", ".join(str(folder / name) for name in occupied)
        verb = "is" if len(occupied) == 1 else "are"
        raise ExistingFilesError(f"{files} {verb} already there; {_way_out(existing, action)}")
    return action


def provision(folder: Path, request: Request, *, now: datetime) -> Provisioned:
    """Make what is asked for in a folder, creating it if need be.

    Raises:
        CertificateError: It cannot be made; ``plan``, ``store`` and ``issue`` say why.
    """
    # Asked before the folder is made too: a refusal must not leave an empty one behind.
    plan(store.existing_files(folder), folder, request=request)
    with store.locked(folder):
        action = plan(store.existing_files(folder), folder, request=request)
        files: dict[str, bytes] = {}
        if action is Action.ISSUE_SERVING:
            authority = store.read_authority(folder)
        else:
            authority = create_ca(now, lifetime=request.authority_lifetime)
            files |= store.authority_files(authority)
        serving = issue(authority, request.names, now=now, lifetime=request.lifetime)
        store.replace_files(folder, files | store.serving_files(serving))
    return Provisioned(action=action, authority=authority, serving=serving)


def provision_self_signed(folder: Path, hosts: Iterable[str] = (), *, now: datetime) -> SelfSignedFiles:
    """Make a pair for this machine that lives as long as the folder, which the caller owns and removes.

    The authority's key is never written: nothing else shall ever be signed with it.

    Args:
        folder: A private temporary folder.
        hosts: DNS names and IP addresses besides those of ``LOCAL_HOSTS``.
        now: The current time, with a time zone.

    Raises:
        NamesError: A host is neither a DNS name nor an IP address.
        UnwritableError: The folder cannot be written.
    """
    names = parse_hosts([*LOCAL_HOSTS, *hosts])
    authority = create_ca(now, lifetime=SERVING_LIFETIME)
    files = store.serving_files(issue(authority, names, now=now))
    with store.locked(folder):
        store.replace_files(folder, files | {store.AUTHORITY_CERTIFICATE: authority.certificate_pem})
    return SelfSignedFiles(
        authority=folder / store.AUTHORITY_CERTIFICATE,
        certificate=folder / store.SERVING_CERTIFICATE,
        key=folder / store.SERVING_KEY,
    )


def _require_authority(existing: Collection[str], folder: Path) -> None:
    missing = sorted(_AUTHORITY_FILES.difference(existing))
    if missing:
        files = " and ".join(str(folder / name) for name in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise CAError(f"{files} {verb} missing, so there is no authority to reuse; leave out --reuse-ca")


def _way_out(existing: Collection[str], action: Action) -> str:
    if action is Action.ISSUE_SERVING:
        return "--force replaces the serving certificate and keeps the authority"
    if not _AUTHORITY_FILES.issubset(existing):
        return "--force replaces everything"
    if not _SERVING_FILES.intersection(existing):
        return "--reuse-ca signs with this authority, --force replaces it"
    return (
        "--reuse-ca --force replaces the serving certificate and keeps the authority, --force replaces both"
    )
