#!/bin/bash
# Looks at an installed sandbox and prints one line of JSON: {"image","ok","checks":[{"name","ok","seen"}]}. `ok` of a check is
# null where it cannot be seen here, as what needs a booted system cannot in a chroot. Exit code 0 when no check is false.
# Run as root. EXAMHALL_VERIFY_DESKTOP=1 asks the desktop although systemd does not run.
set -u
export LC_ALL=C.UTF-8
target=/opt/examhall
results=$(mktemp)
trap 'rm -f "$results"' EXIT
# shellcheck source=pins.sh
. "$(dirname "${BASH_SOURCE[0]}")/pins.sh"

# note <name> <true|false|null> <what was seen>
note() { printf '%s\t%s\t%s\n' "$1" "$2" "$(printf %s "${3:-}" | tr '\t\r\n' '   ' | cut -c1-300)" >>"$results"; }

# check <name> <command...>: its output is what was seen, its exit code the verdict
check() {
  local name=$1 seen
  shift
  if seen=$("$@" 2>&1); then note "$name" true "$seen"; else note "$name" false "$seen"; fi
}

setting() { sed -n "s/^$1=//p" /etc/examhall/sandbox.env 2>/dev/null | tail -n 1; }
privilege=$(setting EXAMHALL_PRIVILEGE)
resolution=$(setting EXAMHALL_RESOLUTION)
if [ -d /run/systemd/system ]; then booted=yes; else booted=no; fi
if [ "$booted" = yes ] || [ "${EXAMHALL_VERIFY_DESKTOP:-}" = 1 ]; then desktop=yes; else desktop=no; fi

agent_account() {
  id user && [ "$(id -u user):$(id -g user)" = 1100:1100 ] && [ "$(getent passwd user | cut -d: -f6)" = /home/user ] &&
    [ "$(stat -c %U /home/user)" = user ]
}
agent_privilege() {
  local rights
  rights=$(sudo -n -l -U user 2>&1 | tail -n 1)
  echo "$privilege: $rights; groups: $(id -Gn user)"
  case "$privilege" in
  upstream) [[ $rights == *NOPASSWD:\ ALL* ]] ;;
  restricted) [[ $rights == *"not allowed"* ]] && [ "$(id -Gn user)" = user ] ;;
  *) false ;;
  esac
}
agent_is_one_user() {
  local ranges
  ranges=$(grep -shE '^(user|1100):' /etc/subuid /etc/subgid)
  echo "$privilege: ${ranges:-no users below the agent}"
  [ "$privilege" = upstream ] || [ -z "$ranges" ]
}
agent_gains_no_rights() {
  local unit seen wanted=no
  if [ "$privilege" = restricted ]; then wanted=yes; fi
  for unit in display session cua; do
    if [ "$booted" = yes ]; then
      seen=$(systemctl show -p NoNewPrivileges --value "examhall-$unit.service")
    else
      seen=$(sed -n 's/^NoNewPrivileges=//p' "/etc/systemd/system/examhall-$unit.service.d/"*.conf 2>/dev/null | tail -n 1)
    fi
    [ "${seen:-no}" = "$wanted" ] || { echo "NoNewPrivileges of examhall-$unit is ${seen:-no}, not $wanted"; return 1; }
  done
  echo "NoNewPrivileges: $wanted"
}
agent_writes_no_program() {
  local found
  found=$(find "$target" /usr/local/bin /etc/examhall /etc/systemd/system \( -user user -o -group user -o \( -perm -0002 ! -type l \) \) -print -quit)
  echo "${found:-nothing of it belongs to the agent}"
  [ -z "$found" ]
}
node_version() {
  local seen
  seen=$("$target/node/bin/node" --version) && echo "$seen" && [ "$seen" = "v$NODE_VERSION" ] && [ "$(/usr/local/bin/node --version)" = "$seen" ]
}
# Without a verb the runner says how it is used, with exit code 2.
runner() {
  local code=0
  "$target/node/bin/node" "$target/runner.mjs" 2>&1 | head -n 1
  code=${PIPESTATUS[0]}
  [ "$code" = 2 ]
}
bridge() { "$target/node/bin/node" --check "$target/cua-desktop.mjs" && stat -c '%U %a' "$target/cua-desktop.mjs"; }
jobs_are_roots() { stat -c '%U %a' /var/lib/examhall/jobs && [ "$(stat -c '%U %a' /var/lib/examhall/jobs)" = 'root 700' ]; }
cua_installed() {
  "$target/cua/venv/bin/python" -I -c 'import importlib.metadata as m; print(m.version("cua-computer-server"))'
}
python_of_tasks() { /opt/ale-run/.venv/bin/python --version && [ "$(stat -c %U /opt/ale-run/.venv)" = user ]; }
folders() {
  local folder
  for folder in /home/user/.ale /media/user/data/agenthle /home/user/cua_mcp_server; do
    [ "$(stat -c %U "$folder")" = user ] || { echo "$folder belongs to somebody else"; return 1; }
  done
  echo 'there'
}
browser() { command -v google-chrome || command -v chromium; }
archiver() { 7z i 2>/dev/null | grep -m 1 -i 7-zip; }
updates_off() {
  local unit
  for unit in apt-daily.timer apt-daily-upgrade.timer unattended-upgrades.service; do
    [ "$(readlink "/etc/systemd/system/$unit")" = /dev/null ] || { echo "$unit is not masked"; return 1; }
  done
  echo 'masked'
}
starts_nothing_later() {
  local list
  for list in /etc/cron.allow /etc/at.allow; do
    [ "$(cat "$list")" = root ] || { echo "$list lets others in"; return 1; }
  done
  [ ! -e /var/lib/systemd/linger/user ] && [ "$(readlink /etc/systemd/system/user@1100.service)" = /dev/null ] && echo 'cron, at and lingering are root alone'
}
units_enabled() { systemctl is-enabled examhall-desktop.target examhall-guard.service; }
units_active() { systemctl is-active examhall-display.service examhall-session.service examhall-cua.service; }
no_references() {
  local found
  found=$("$target/linux/find-references.sh" | head -n 3)
  echo "${found:-none}"
  [ -z "$found" ]
}
deadman() { systemctl is-active examhall-deadman.timer && systemctl show -p NextElapseUSecRealtime --value examhall-deadman.timer; }
metadata_shut() {
  local seen rule
  seen=$(nft list table inet examhall 2>&1)
  echo "$privilege: $(grep -o 'meta skuid.*\|Error.*' <<<"$seen" | tr '\n' ';')"
  for rule in 'ip daddr 169.254.169.254' 'ip6 daddr fd00:ec2::254'; do
    case "$privilege" in
    restricted) grep -Eq "^[[:space:]]*meta skuid != 0 $rule .*reject" <<<"$seen" || return 1 ;;
    *) if grep -qF "$rule" <<<"$seen"; then return 1; fi ;;
    esac
  done
}
cua_answers() { curl -fsS --max-time 20 http://127.0.0.1:5000/status; }
cua_as_agent() {
  local seen
  seen=$(curl -fsS --max-time 20 -H 'Content-Type: application/json' -d '{"command":"run_command","params":{"command":"id -un"}}' http://127.0.0.1:5000/cmd)
  echo "$seen"
  [[ $seen == *'user\n'* ]]
}
# What the cua-server starts for whoever calls it.
cua_gains_no_rights() {
  local seen wanted=0
  if [ "$privilege" = restricted ]; then wanted=1; fi
  seen=$(curl -fsS --max-time 20 -H 'Content-Type: application/json' \
    -d '{"command":"run_command","params":{"command":"grep NoNewPrivs /proc/self/status"}}' http://127.0.0.1:5000/cmd)
  echo "$seen"
  [[ $seen == *"NoNewPrivs:\\t$wanted"* ]]
}
# Twice: never locks shows only later, but a picture of the wrong size or a black one shows now.
screen() {
  curl -fsS --max-time 30 -H 'Content-Type: application/json' -d '{"command":"screenshot"}' http://127.0.0.1:5000/cmd |
    "$target/cua/venv/bin/python" -I -c '
import base64, io, json, sys
from PIL import Image
text = sys.stdin.read().split("data:", 1)[1]
picture = Image.open(io.BytesIO(base64.b64decode(json.loads(text)["image_data"]))).convert("L")
low, high = picture.getextrema()
print("%dx%d" % picture.size, "brightness", low, "to", high)
sys.exit(0 if "%dx%d" % picture.size == sys.argv[1] and high > 16 else 1)' "$resolution"
}

check agent-account agent_account
check agent-privilege agent_privilege
check agent-is-one-user agent_is_one_user
check agent-gains-no-rights agent_gains_no_rights
check agent-writes-no-program agent_writes_no_program
check node node_version
check runner runner
check bridge bridge
check jobs-folder jobs_are_roots
check cua-installed cua_installed
check task-python python_of_tasks
check family-folders folders
check browser browser
check 7z archiver
check updates-off updates_off
check starts-nothing-later starts_nothing_later
check units-enabled units_enabled
check no-references no_references
if [ "$booted" = yes ]; then
  check units-active units_active
  # An image that is being made has no end of its own.
  if [ -n "$(setting EXAMHALL_EXPIRES_AT)" ]; then check dead-man deadman; else note dead-man null 'no time was set'; fi
else
  for name in units-active dead-man; do note "$name" null 'systemd does not run here'; done
fi
if [ "$desktop" = yes ]; then
  check cua-answers cua_answers
  check cua-as-agent cua_as_agent
  check cua-gains-no-rights cua_gains_no_rights
  check metadata metadata_shut
  check screen screen
else
  for name in cua-answers cua-as-agent cua-gains-no-rights metadata screen; do note "$name" null 'no desktop runs here'; done
fi

python3 -I -c '
import json, sys
words = {"true": True, "false": False, "null": None}
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8", errors="replace")]
checks = [{"name": name, "ok": words[ok], "seen": seen.strip()} for name, ok, seen in rows]
ok = bool(checks) and all(check["ok"] is not False for check in checks)
print(json.dumps({"image": "ubuntu-desktop", "ok": ok, "checks": checks}))
sys.exit(0 if ok else 1)' "$results"
