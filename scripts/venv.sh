# Sourced by the other scripts: a new venv, and where its torch comes from.

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

make_venv() { # make_venv VENV
  local python
  python=$(find_python)
  "$python" -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  "$python" -m venv "$1"
}

# On Linux, PyPI's torch brings CUDA along: 2.7 GB instead of 0.2 GB.
torch_source() { # torch_source VENV
  local cpu_wheels=https://download.pytorch.org/whl/cpu
  [ "$(uname -s)" = Linux ] || return 0
  ! command -v nvidia-smi >/dev/null || return 0
  "$1/bin/python" - "$cpu_wheels/torch/" <<'PY' 2>/dev/null || return 0
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=10)
PY
  echo "--extra-index-url $cpu_wheels"
}
