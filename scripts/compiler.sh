#!/usr/bin/env bash
# Make sure that torch.compile finds a C++ compiler and Python's headers.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/system.sh

missing=()
command -v g++ >/dev/null || missing+=(g++)
headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$headers/Python.h" ] || missing+=(python3-dev)
[ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
