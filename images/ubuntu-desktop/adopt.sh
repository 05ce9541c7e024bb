#!/bin/bash
# Turns a machine that was made from somebody else's image into ours: runner, agent's account, cua-server as that account.
# Run as root from the unpacked boot archive. Refuses an image that holds answers, unless told to remove them.
#
#   adopt.sh [--remove-references]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mapfile -t -d '' found < <("$here/find-references.sh" -0)
if [ "${#found[@]}" -gt 0 ]; then
  if [ "${1:-}" != --remove-references ]; then
    printf 'examhall-adopt: this image holds reference material: %s\n' "${found[@]}" >&2
    exit 3
  fi
  rm -rf -- "${found[@]}"
fi

# Whatever brought a desktop and a server before would take the screen and the port.
mapfile -t units < <(grep -lEs 'computer_server|cua-computer-server' /etc/systemd/system/*.service /lib/systemd/system/*.service | grep -v /examhall- || true)
for unit in "${units[@]##*/}" display-manager.service gdm3.service lightdm.service sddm.service; do
  systemctl disable --now "$unit" 2>/dev/null || true
done
rm -f /home/user/.config/autostart/*cua* /home/user/.config/autostart/*computer_server* || true

"$here/install.sh"
"$here/configure.sh"
"$here/verify.sh"
