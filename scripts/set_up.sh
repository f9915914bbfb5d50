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

lock=${1:-dev}
venv=${2:-.venv}
requirements=requirements/$lock.txt
stamp=$venv/.set-up-$lock
key=$(cat "$requirements" pyproject.toml | cksum)
torch=$(grep -h '^torch==' requirements/dev.txt | cut -d' ' -f1)
cpu_wheels=https://download.pytorch.org/whl/cpu

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ]; then
  exit 0
fi

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3.14 python3}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  echo "ftlab needs Python 3.11 or later. Install it, or name it: PYTHON=/path/to/python3 make ..." >&2
  return 1
}

make_venv() {
  local python
  python=$(find_python)
  "$python" -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  "$python" -m venv "$venv"
}

# On Linux, PyPI's torch brings CUDA along: 2.7 GB instead of 0.2 GB.
torch_source() {
  [ "$(uname -s)" = Linux ] || return 0
  ! command -v nvidia-smi >/dev/null || return 0
  "$venv/bin/python" - "$cpu_wheels/torch/" <<'PY' 2>/dev/null || return 0
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=10)
PY
  echo "--extra-index-url $cpu_wheels"
}

echo "Setting up $venv from $requirements (once; minutes, most of it for torch)"
[ -x "$venv/bin/python" ] || make_venv
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input install)
# torch first and alone, so that nothing else decides which torch is installed.
# shellcheck disable=SC2046  # two words or none
"${pip[@]}" $(torch_source) "$torch"
# mistral-common comes after all others, and may not choose: for Python 3.11 it holds
# NumPy below 2.4, and works with the one that is locked.
grep -v '^mistral-common==' "$requirements" | "${pip[@]}" --quiet -r /dev/stdin
"${pip[@]}" --quiet --no-deps -r "$requirements"
"${pip[@]}" --quiet --no-deps --no-build-isolation --editable .
echo "$key" >"$stamp"
