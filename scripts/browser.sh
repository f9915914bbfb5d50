#!/usr/bin/env bash
# Print the path of the browser for the tests, installing Debian's chromium if needed.
#
# $CHROME comes first, then Chromium or Chrome on the PATH. Ubuntu's chromium package
# only starts a snap, which containers cannot run, so there it has to be one of those.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/system.sh

if find_chrome; then
  exit 0
fi
if [ -n "${CHROME:-}" ]; then
  echo "CHROME is '$CHROME', which cannot be run. Set it to a Chrome or Chromium." >&2
  exit 1
fi
if is_ubuntu || ! command -v apt-get >/dev/null; then
  echo "The browser tests need Chrome or Chromium. Put google-chrome on the PATH or set CHROME=/path/to/it." >&2
  exit 1
fi
install_packages chromium fonts-liberation >&2
find_chrome
