"""A kubeconfig, read by the client's own loader, and what is wrong with one in sentences."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kubernetes import client
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from policies.manifests.fields import shown

#: Characters of what a credential plugin printed that are repeated. Arbitrary; most print a sentence.
_LONGEST_OUTPUT: Final = 300
#: The function of the client that only logs why a credential plugin gave nothing.
_PLUGIN_FUNCTION: Final = "_load_from_exec_plugin"
#: How the client names an object of the file, which may hold secrets: all from the first brace to the last.
_CONTENT: Final = re.compile(r"/?\{.*\}", re.DOTALL)
#: How the client begins.
_PREFIXES: Final = ("Invalid kube-config file. ", "Invalid kube-config. ")
#: How the client tells of the exit code of a plugin, with what it printed to stderr.
_EXITED: Final = re.compile(r"exec: process returned (-?\d+)(?:\. (.*))?", re.DOTALL)


def load_kubeconfig(configuration: client.Configuration, context: str, file: str) -> str:
    """Take over what a kubeconfig says of a context, its current one if none is named; return its namespace.

    The client's own functions know the namespace only where there is a current context, and go on without
    credentials where a plugin gives none.

    Raises:
        ConfigException: The file cannot be used.
        OSError: A file that it names cannot be read.
    """
    merged = KubeConfigMerger(file)
    if merged.config is None:
        raise ConfigException("there is no such file")
    if not isinstance(merged.config.value, dict):
        raise ConfigException("it is no kubeconfig")
    names = [entry["name"] for entry in merged.config.value.get("contexts") or ()]
    has = f"it has {', '.join(map(shown, names)) or 'no context'}"
    if context and context not in names:
        raise ConfigException(f"it has no context {shown(context)}; {has}")
    if not context and not merged.config.value.get("current-context"):
        raise ConfigException(f"it has no current-context, {has}; --context chooses one")
    loader = _Loader(  # type: ignore[no-untyped-call]  # the client's
        config_dict=merged.config,
        active_context=context or None,
        # Files that are named in it stand beside the one that names them.
        config_base_path=None,
        config_persister=merged.save_changes,
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # the client's
    return str(loader.current_context["context"].get("namespace") or "")


def problem_of(error: Exception) -> str:
    """Return what is wrong with a kubeconfig, on one line and without what stands in it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | TypeError | KeyError | AttributeError):
        # Python's own words, of a value that is not of the type that the client takes it to be.
        return "it is no valid kubeconfig"
    text = " ".join(str(error).split())
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return _CONTENT.sub("", text.replace("Expected", "expected"))


class _Loader(KubeConfigLoader):
    """The client's loader, which fails where a credential plugin does."""

    def _load_from_exec_plugin(self) -> bool | None:
        """Run the plugin of the user, if there is one.

        Raises:
            ConfigException: It gives no credentials.
        """
        user: Any = self._user
        if "exec" not in user:
            return None
        with _logged() as logged:
            loaded = super()._load_from_exec_plugin()  # type: ignore[no-untyped-call]  # the client's
        if not loaded:
            raise ConfigException(_plugin_problem(user["exec"], logged[-1] if logged else ""))
        return True


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Give what the client logs of a credential plugin, which nobody else is told."""
    texts: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.funcName == _PLUGIN_FUNCTION:
                texts.append(record.getMessage())

    root, handler = logging.getLogger(), Handler()
    root.addHandler(handler)
    try:
        yield texts
    finally:
        root.removeHandler(handler)


def _plugin_problem(plugin: Any, logged: str) -> str:
    """Return why a credential plugin gave nothing, from what the client logged."""
    command = plugin.safe_get("command")
    name = f"the credential plugin {shown(command)}"
    if logged.startswith("[Errno 2]"):
        hint = plugin.safe_get("installHint")
        advice = f": {_line(hint)}" if isinstance(hint, str) and hint else ""
        return f"{name} is not installed, or not on the PATH{advice}"
    if logged.startswith("[Errno"):
        return f"{name} cannot be run: {logged.partition('] ')[2].partition(':')[0]}"
    if exited := _EXITED.fullmatch(logged):
        return f"{name} failed with exit code {exited[1]}" + (f": {_line(exited[2])}" if exited[2] else "")
    if "failed to decode" in logged:
        return f"{name} did not print an ExecCredential"
    if logged.startswith("exec: "):
        return f"{name}: {_line(logged.removeprefix('exec: '))}"
    # On a terminal it prints to the terminal itself, and the client stumbles over that.
    return f"{name} gave no credentials"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_OUTPUT else f"{line[: _LONGEST_OUTPUT - 1]}…"
