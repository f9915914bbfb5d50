# Sourced by the other scripts: what has to come from the operating system.

# Install Debian packages when root; otherwise name them and stop.
install_packages() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing with apt-get: $*"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    return
  fi
  echo "Missing system packages: $*" >&2
  echo "Install them (Debian, Ubuntu: sudo apt-get install $*) and run this again." >&2
  return 1
}

# Print the Chrome or Chromium that the browser tests drive; fail when there is none.
find_chrome() {
  if [ -n "${CHROME:-}" ]; then
    command -v "$CHROME"
    return
  fi
  command -v chromium || command -v google-chrome || command -v google-chrome-stable
}

is_ubuntu() {
  grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null
}
