"""``evenkeel completion``: the script that makes a shell complete our commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from webhook.cli.command import Command

#: The names under which the program is installed.
PROGRAMS = ("evenkeel", "kubectl-evenkeel")

#: bash breaks words at ":" and "=" too, so that builtin:NAME and FORMAT=FILE would be several. So the line
#: itself is completed, and what is before the break is not repeated. -1 is its last word, 9999 a new.
_BASH: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" current=-1 kept="" response type value
    local word="${line##*[[:space:]]}" cur="${COMP_WORDS[COMP_CWORD]}"
    if [[ -z $word ]]; then current=9999; fi
    if [[ $cur == [:=] ]]; then kept="$word"; else kept="${word%%"$cur"}"; fi
    if [[ $word == -*=* ]]; then kept="${kept#*=}"; fi
    response=$(env COMP_WORDS="$line" COMP_CWORD=$current %(complete_var)s=bash_complete "$1")
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("${value#"$kept"}")
        fi
    done
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """As click's, for values with colons and equals signs."""

    source_template = _BASH


class _Fish(FishComplete):
    """As click's, for values with commas: only the first parts the kind of a value from it."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


#: What makes the script of each shell.
_SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish}

_EXAMPLES = """\
For this shell only:  source <(evenkeel completion bash)
For every bash:       evenkeel completion bash > /etc/bash_completion.d/evenkeel
For every fish:       evenkeel completion fish > ~/.config/fish/completions/evenkeel.fish

The script completes `evenkeel` and `kubectl-evenkeel`. For `kubectl evenkeel`, kubectl asks an executable
called kubectl_complete-evenkeel that must be on the PATH; this makes one:

\b
cat > ~/bin/kubectl_complete-evenkeel <<'EOF'
#!/bin/sh
COMP_WORDS="kubectl-evenkeel $*" COMP_CWORD=$# _KUBECTL_EVENKEEL_COMPLETE=bash_complete \\
  kubectl-evenkeel | cut -d, -f2-
EOF
chmod +x ~/bin/kubectl_complete-evenkeel
"""


@click.command(cls=Command, examples=_EXAMPLES)
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL: bash, zsh or fish."""
    for program in PROGRAMS:
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        click.echo(_SHELLS[shell](context.find_root().command, {}, program, variable).source())
