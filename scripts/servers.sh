#!/usr/bin/env bash
# Make the environments of all model servers that tests/servers starts.
#
# One that cannot be made here leaves its last words in .venv-serve-NAME/failed: its
# tests are then skipped, and say why. The next call tries it again.
set -euo pipefail
cd "$(dirname "$0")/.."

for name in transformers llama-cpp vllm; do
  venv=.venv-serve-$name
  mkdir -p "$venv"
  rm -f "$venv/failed"
  if ! scripts/server.sh "$name" 2>&1 | tee "$venv/log"; then
    tail -n 3 "$venv/log" | cut -c 1-300 >"$venv/failed"
    echo "$venv could not be made: its tests will be skipped" >&2
  fi
done
