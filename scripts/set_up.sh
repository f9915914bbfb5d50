#!/usr/bin/env bash
# Make .venv hold exactly what a lock file says, and ftlab itself.
#
#   scripts/set_up.sh [LOCK [VENV]]      LOCK is dev (default), bench or oldest
#
# Every make target calls this first. A stamp in the venv remembers the lock and the
# project file it was made from; while both are unchanged there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/system.sh
source scripts/venv.sh

lock=${1:-dev}
venv=${2:-.venv}
requirements=requirements/$lock.txt
stamp=$venv/.set-up-$lock
key=$(cat "$requirements" pyproject.toml | cksum)
torch=$(grep -h '^torch==' requirements/dev.txt | cut -d' ' -f1)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ]; then
  exit 0
fi

echo "Setting up $venv from $requirements (once; minutes, most of it for torch)"
[ -x "$venv/bin/python" ] || make_venv "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input install)
# torch first and alone, so that nothing else decides which torch is installed.
# shellcheck disable=SC2046  # two words or none
"${pip[@]}" $(torch_source "$venv") "$torch"
# mistral-common comes after all others, and may not choose: for Python 3.11 it holds
# NumPy below 2.4, and works with the one that is locked. So does adapters, which asks
# for transformers 4.57.6, and works with 4.57.1.
grep -vE '^(mistral-common|adapters)==' "$requirements" | "${pip[@]}" --quiet -r /dev/stdin
"${pip[@]}" --quiet --no-deps -r "$requirements"
"${pip[@]}" --quiet --no-deps --no-build-isolation --editable .
echo "$key" >"$stamp"
