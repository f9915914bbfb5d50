#!/usr/bin/env bash
# Write requirements/*.txt anew: the newest versions that pyproject.toml allows.
# Each lock is resolved in a scratch venv under build/, torch first, with Debian 12's
# Python 3.11.2: what that can install, every later Python can.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/venv.sh

torch=torch==2.13.0
# The oldest transformers that ftlab supports, and what was current beside it.
oldest=(transformers==4.57.1 peft==0.17.0 accelerate==1.10.0 trl==0.24.0)
adapterhub=(adapters==1.3.0)

resolve() { # resolve NAME GROUPS [REQUIREMENT...]
  local venv=build/lock-$1 groups=() group
  for group in $2; do groups+=(--group "$group"); done
  "${PYTHON:-/usr/bin/python3}" -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
  "$venv/bin/python" -m pip install --quiet "$torch"
  "$venv/bin/python" -m pip install --quiet "$torch" "${groups[@]}" "${@:3}" \
    --editable '.[data,quantization,trl]'
}

# resolve_server NAME [PIP_ARGUMENT...]: without installing it, for one has to be compiled
resolve_server() {
  local venv=build/lock-serve-$1 report=build/lock-serve-$1.json
  "${PYTHON:-/usr/bin/python3}" -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --upgrade 'pip>=25.1' packaging
  # shellcheck disable=SC2046  # two words or none
  "$venv/bin/python" -m pip install --quiet --dry-run --ignore-installed \
    --report "$report" $(torch_source "$venv") --group "serve-$1" "${@:2}"
  "$venv/bin/python" scripts/lock.py "serve-$1" --report "$report" >"requirements/serve-$1.txt"
}

resolve dev "build test lint bench"
# mistral-common holds NumPy below 2.4 for Python 3.11, and works with what is newer.
numpy=$(build/lock-dev/bin/python -m pip list --format=freeze | grep '^numpy==')
build/lock-dev/bin/python -m pip install --quiet "$torch" --group tokenizers
build/lock-dev/bin/python -m pip install --quiet --no-deps "$numpy"
build/lock-dev/bin/python scripts/lock.py build test lint tokenizers >requirements/dev.txt
build/lock-dev/bin/python scripts/lock.py bench --less requirements/dev.txt >requirements/bench.txt
resolve oldest "build test" "${oldest[@]}"
# adapters asks for transformers 4.57.6, and works with 4.57.1.
build/lock-oldest/bin/python -m pip install --quiet --no-deps "${adapterhub[@]}"
build/lock-oldest/bin/python scripts/lock.py build test adapterhub >requirements/oldest.txt

# What is served is served by the transformers that trained it.
grep -E '^(torch|transformers|tokenizers|safetensors|accelerate|huggingface-hub|numpy|peft)==' \
  requirements/dev.txt >build/same.txt
resolve_server transformers --constraint build/same.txt
resolve_server llama-cpp
resolve_server vllm "$torch"
# PyPI's are made for CUDA: beside another torch they end whatever imports them.
sed -i '/^torch\(audio\|codec\|vision\)==/d' requirements/serve-vllm.txt
