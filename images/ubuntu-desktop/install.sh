#!/bin/bash
# Turns Ubuntu 22.04 or later, or Debian 12 or later, into an Exam Hall sandbox. Run as root, from the unpacked boot archive,
# by the first boot of a public image, by Image Builder, or in a chroot. Safe to repeat; what is there already is left alone.
#
#   install.sh [--files-only]      --files-only: runner, bridge, scripts and units, for an image that has the rest
#
# EXAMHALL_PINS may name a file that is sourced after pins.sh, for other places to fetch from.
set -euo pipefail
umask 022
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
archive=$(dirname "$here")
target=/opt/examhall
agent=user
agent_id=1100

# shellcheck source=pins.sh
. "$here/pins.sh"
if [ -n "${EXAMHALL_PINS:-}" ]; then
  # shellcheck disable=SC1090
  . "$EXAMHALL_PINS"
fi
# shellcheck disable=SC1091
. /etc/os-release

say() { echo "examhall-install: $*"; }

fail() {
  say "$*" >&2
  exit 1
}

# fetch <url> <sha256> <file>
fetch() {
  if [ -f "$3" ] && echo "$2  $3" | sha256sum -c --quiet - 2>/dev/null; then return; fi
  curl -fsSL --retry 8 --retry-delay 3 --connect-timeout 15 --max-time 900 -o "$3.part" "$1"
  echo "$2  $3.part" | sha256sum -c --quiet - || fail "$1 has another SHA-256 than $2"
  mv "$3.part" "$3"
}

is_booted() { [ -d /run/systemd/system ]; }

install_files() {
  say 'files'
  install -d -m 0755 "$target" "$target/linux" /etc/examhall
  install -m 0644 "$archive/runner.mjs" "$archive/cua-desktop.mjs" "$target/"
  install -m 0755 "$here"/*.sh "$here"/files/*.sh "$target/linux/"
  install -m 0644 "$here/requirements.lock" "$here/files/metadata.nft" "$target/linux/"
  install -m 0644 "$here"/files/*.service "$here"/files/*.target "$here"/files/*.slice /etc/systemd/system/
  install -d -m 0711 /var/lib/examhall
  install -d -m 0700 /var/lib/examhall/jobs
  if [ ! -f /etc/examhall/sandbox.env ]; then install -m 0644 "$here/files/sandbox.env" /etc/examhall/; fi
}

# First of all: whatever updates by itself holds the package lock now, and changes the machine under an agent later.
stop_updates() {
  say 'automatic updates off'
  local unit
  for unit in apt-daily.timer apt-daily-upgrade.timer apt-daily.service apt-daily-upgrade.service \
    unattended-upgrades.service motd-news.timer motd-news.service fwupd-refresh.timer update-notifier-download.timer \
    update-notifier-motd.timer man-db.timer; do
    if is_booted; then systemctl stop "$unit" 2>/dev/null || true; fi
    systemctl mask "$unit" >/dev/null 2>&1 || ln -sf /dev/null "/etc/systemd/system/$unit"
  done
  printf 'APT::Periodic::Enable "0";\n' >/etc/apt/apt.conf.d/99examhall
  if is_booted && command -v snap >/dev/null; then snap set system refresh.hold=2099-01-01T00:00:00Z || true; fi
}

# Mirrors fail now and then, and no timeout of apt is for the lock of its lists, which a timer's run may hold.
apt() {
  local try
  for try in 1 2 3 4 5; do
    if apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=5 "$@"; then return; fi
    say "apt-get $1 failed, try $try of 5" >&2
    if [ "$try" != 5 ]; then sleep 15; fi
  done
  fail "apt-get $1 failed five times"
}

install_packages() {
  say 'packages'
  local names=(
    ca-certificates curl xz-utils unzip gnupg sudo nftables iproute2 procps util-linux socat p7zip-full
    xvfb x11-utils x11-xkb-utils x11-xserver-utils xauth openbox xdotool xclip wmctrl xdg-utils dbus-x11
    fonts-dejavu-core fonts-liberation python3 python3-venv
  )
  if [ "$ID" = debian ]; then names+=(chromium); fi
  apt update -qq
  apt install -o Dpkg::Options::=--force-confold -y -qq --no-install-recommends "${names[@]}"
}

# The key is pinned, not the release: Google offers only its latest.
install_chrome() {
  if [ "$ID" = debian ] || command -v google-chrome >/dev/null; then return; fi
  say 'browser'
  local key=/usr/share/keyrings/google-chrome.asc
  curl -fsSL --retry 8 --connect-timeout 15 -o "$key" "$CHROME_KEY_URL"
  gpg --batch --with-colons --show-keys "$key" | grep -q "^fpr:::::::::$CHROME_KEY_FINGERPRINT:" ||
    fail "$CHROME_KEY_URL holds no key $CHROME_KEY_FINGERPRINT"
  echo "deb [arch=amd64 signed-by=$key] https://dl.google.com/linux/chrome/deb/ stable main" >/etc/apt/sources.list.d/google-chrome.list
  apt update -qq
  apt install -y -qq --no-install-recommends google-chrome-stable
}

# An account of that name from another image keeps its home and gets our uid: channels kill and look for it by number.
make_agent() {
  say "account $agent"
  local owner
  owner=$(getent passwd "$agent_id" | cut -d: -f1 || true)
  if [ -n "$owner" ] && [ "$owner" != "$agent" ]; then fail "uid $agent_id is $owner's"; fi
  if ! getent passwd "$agent" >/dev/null; then
    getent group "$agent" >/dev/null || groupadd -g "$agent_id" "$agent"
    useradd -u "$agent_id" -g "$agent" -m -s /bin/bash "$agent"
  elif [ "$(id -u "$agent")" != "$agent_id" ]; then
    local old_uid old_gid
    old_uid=$(id -u "$agent")
    old_gid=$(id -g "$agent")
    groupmod -g "$agent_id" "$(id -gn "$agent")"
    usermod -u "$agent_id" "$agent"
    find /home/user /media/user -xdev \( -uid "$old_uid" -o -gid "$old_gid" \) -exec chown -h "$agent_id:$agent_id" {} + 2>/dev/null || true
  fi
  usermod -p '*' "$agent"
  install -d -m 0755 -o "$agent" -g "$agent" /home/user /home/user/.ale /home/user/Desktop /home/user/cua_mcp_server
  install -d -m 0755 -o "$agent" -g "$agent" /media/user /media/user/data /media/user/data/agenthle
}

install_node() {
  if [ "$("$target/node/bin/node" --version 2>/dev/null)" != "v$NODE_VERSION" ]; then
    say "Node $NODE_VERSION"
    fetch "$NODE_URL" "$NODE_SHA256" "$target/node.tar.xz"
    rm -rf "$target/node"
    mkdir "$target/node"
    tar -xJf "$target/node.tar.xz" -C "$target/node" --strip-components=1 --no-same-owner
    rm "$target/node.tar.xz"
  fi
  local name
  for name in node npm npx; do ln -sfn "$target/node/bin/$name" "/usr/local/bin/$name"; done
}

# Prints the Python to use: 3.12 or 3.13 of the distribution, 3.11 on Debian 12, or else one that uv brings.
find_python() {
  local name
  for name in python3.12 python3.13 python3.11; do
    if [ -x "/usr/bin/$name" ] && "/usr/bin/$name" -c 'import ensurepip, venv' 2>/dev/null; then
      echo "/usr/bin/$name"
      return
    fi
  done
  local uv=$target/uv
  mkdir -p "$uv"
  fetch "$UV_URL" "$UV_SHA256" "$uv/uv.whl"
  python3 -m zipfile -e "$uv/uv.whl" "$uv"
  install -m 0755 "$uv/uv-$UV_VERSION.data/scripts/uv" "$uv/uv"
  UV_PYTHON_INSTALL_DIR=$target/python "$uv/uv" python install --quiet --no-bin "$PYTHON_VERSION" >&2
  UV_PYTHON_INSTALL_DIR=$target/python "$uv/uv" python find --managed-python "$PYTHON_VERSION"
}

install_cua() {
  local lock=$target/linux/requirements.lock note=$target/cua/lock.sha256 hash python
  hash=$(sha256sum "$lock" | cut -d' ' -f1)
  if [ "$(cat "$note" 2>/dev/null)" = "$hash" ] && [ -x "$target/cua/venv/bin/python" ]; then return; fi
  python=$(find_python)
  say "cua-server on $("$python" --version)"
  mkdir -p "$target/cua"
  "$python" -m venv --clear "$target/cua/venv"
  # The server says that it wants 3.12, and runs on 3.11.
  "$target/cua/venv/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir \
    --ignore-requires-python --require-hashes --no-deps --only-binary :all: -r "$lock"
  install -d -m 0755 /opt/ale-run
  "$python" -m venv --clear /opt/ale-run/.venv
  chown -R "$agent:$agent" /opt/ale-run/.venv
  echo "$hash" >"$note"
}

[ "$(id -u)" = 0 ] || fail 'this needs root'
case "${ID:-}" in ubuntu | debian) ;; *) fail "this is ${ID:-an unknown system}; Ubuntu and Debian are supported" ;; esac

install_files
if [ "${1:-}" != --files-only ]; then
  stop_updates
  install_packages
  make_agent
  install_node
  install_cua
  install_chrome
  apt-get clean
fi
if is_booted; then systemctl daemon-reload; fi
say 'done'
