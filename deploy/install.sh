#!/bin/sh
# Installs Evenkeel into a virtual environment: this source tree, and exactly what constraints.txt lists, by its hashes.
# Nothing that was downloaded is built, so none of it runs before it is wanted. pip may be another Python's.
# Usage: [PYTHON=python3] deploy/install.sh FOLDER
set -eu
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
into="$1/bin/python"
pip() {
  command=$1
  shift
  "${PYTHON:-python3}" -m pip --python "$into" "$command" --quiet --disable-pip-version-check "$@"
}
pip install --require-hashes --only-binary :all: --requirement "$source/deploy/constraints.txt"
# By the hatchling that the list has, which nothing needs any more afterwards, nor what it alone needs.
pip install --no-deps --no-index --no-build-isolation "$source"
pip uninstall --yes hatchling packaging pathspec pluggy tomlkit trove-classifiers
