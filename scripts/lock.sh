#!/usr/bin/env bash
# Write requirements/*.txt anew: the newest versions that pyproject.toml allows.
# Each lock is resolved in a scratch venv under build/, torch first, with Debian 12's
# Python 3.11.2: what that can install, every later Python can.
set -euo pipefail
cd "$(dirname "$0")/.."

torch=torch==2.13.0
# The oldest transformers that ftlab supports, and what was current beside it.
oldest=(transformers==4.57.1 peft==0.17.0 accelerate==1.10.0 trl==0.24.0)

resolve() { # resolve NAME GROUPS [REQUIREMENT...]
  local venv=build/lock-$1 groups=() group
  for group in $2; do groups+=(--group "$group"); done
  "${PYTHON:-/usr/bin/python3}" -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
  "$venv/bin/python" -m pip install --quiet "$torch"
  "$venv/bin/python" -m pip install --quiet "$torch" "${groups[@]}" "${@:3}" \
    --editable '.[data,quantization,trl]'
}

resolve dev "build test lint bench"
# mistral-common holds NumPy below 2.4 for Python 3.11, and works with what is newer.
numpy=$(build/lock-dev/bin/python -m pip list --format=freeze | grep '^numpy==')
build/lock-dev/bin/python -m pip install --quiet "$torch" --group tokenizers
build/lock-dev/bin/python -m pip install --quiet --no-deps "$numpy"
build/lock-dev/bin/python scripts/lock.py build test lint tokenizers >requirements/dev.txt
build/lock-dev/bin/python scripts/lock.py bench --less requirements/dev.txt >requirements/bench.txt
resolve oldest "build test" "${oldest[@]}"
build/lock-oldest/bin/python scripts/lock.py build test >requirements/oldest.txt
