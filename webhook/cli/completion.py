"""``evenkeel completion``: the script that makes a shell complete our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

#: The names under which the program is installed.
PROGRAMS = ("evenkeel", "kubectl-evenkeel")


#: Shown below the options as it stands: click wraps everything else.
_EXAMPLES = """\b
For this shell only:  source <(evenkeel completion bash)
For every bash:       evenkeel completion bash > /etc/bash_completion.d/evenkeel
For every fish:       evenkeel completion fish > ~/.config/fish/completions/evenkeel.fish

The script completes `evenkeel` and `kubectl-evenkeel`. For `kubectl evenkeel`, kubectl asks an executable
called kubectl_complete-evenkeel that must be on the PATH; this makes one:

\b
cat > ~/bin/kubectl_complete-evenkeel <<'EOF'
#!/bin/sh
COMP_WORDS="kubectl-evenkeel $*" COMP_CWORD=$# _KUBECTL_EVENKEEL_COMPLETE=bash_complete \\
  kubectl-evenkeel | cut -d, -f2
EOF
chmod +x ~/bin/kubectl_complete-evenkeel
"""


@click.command(epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL: bash, zsh or fish."""
    completion = get_completion_class(shell)
    if completion is None:  # pragma: no cover  # click knows the three that the argument allows
        context.fail(f"no completion for {shell}")
    for program in PROGRAMS:
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        click.echo(completion(context.find_root().command, {}, program, variable).source())
