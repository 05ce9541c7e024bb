#!/bin/bash
# Sets an installed sandbox up for one attempt, as /etc/examhall/sandbox.env says, and starts its desktop. Safe to repeat.
set -euo pipefail
umask 022

fail() {
  echo "examhall-configure: $*" >&2
  exit 1
}

# Read, not sourced: nothing of this file is run.
setting() { sed -n "s/^$1=//p" /etc/examhall/sandbox.env | tail -n 1; }
privilege=$(setting EXAMHALL_PRIVILEGE)
resolution=$(setting EXAMHALL_RESOLUTION)
[[ $resolution =~ ^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$ ]] || fail "EXAMHALL_RESOLUTION is '$resolution', not <width>x<height>"

sudoers=/etc/sudoers.d/90-examhall-agent
guard=/etc/examhall/metadata.nft
units=(examhall-display.service examhall-session.service examhall-cua.service)
for unit in "${units[@]}"; do rm -f "/etc/systemd/system/$unit.d/restricted.conf"; done
case "$privilege" in
upstream)
  rm -f "$guard"
  echo 'user ALL=(ALL:ALL) NOPASSWD: ALL' >"$sudoers.new"
  chmod 0440 "$sudoers.new"
  visudo -cqf "$sudoers.new"
  mv "$sudoers.new" "$sudoers"
  ;;
restricted)
  # Images that were made elsewhere may give the account rights in files of their own.
  rm -f "$sudoers"
  grep -lE '^[[:space:]]*(user|%user)[[:space:]]' /etc/sudoers.d/* 2>/dev/null | xargs -r rm -f || true
  usermod -G '' user
  # An account may take other users for processes of its own, whom neither rules nor a stop would know for the agent's.
  for ranges in /etc/subuid /etc/subgid; do if [ -f "$ranges" ]; then sed -i '/^\(user\|1100\):/d' "$ranges"; fi; done
  # As the runner's jobs have it: what the cua-server starts gains no rights either, whatever programs an image holds.
  for unit in "${units[@]}"; do
    mkdir -p "/etc/systemd/system/$unit.d"
    printf '[Service]\nNoNewPrivileges=yes\n' >"/etc/systemd/system/$unit.d/restricted.conf"
  done
  install -m 0644 /opt/examhall/linux/metadata.nft "$guard"
  ;;
*) fail "EXAMHALL_PRIVILEGE is '$privilege'; it is upstream or restricted" ;;
esac

# Nothing that the agent plans for later may come back after its processes were ended.
for list in /etc/cron.allow /etc/at.allow; do printf 'root\n' >"$list"; done
rm -f /var/lib/systemd/linger/user
systemctl mask user@1100.service

systemctl enable examhall-guard.service examhall-desktop.target
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ "$privilege" = upstream ]; then nft delete table inet examhall 2>/dev/null || true; fi
  systemctl restart examhall-guard.service
  systemctl restart examhall-desktop.target
fi
