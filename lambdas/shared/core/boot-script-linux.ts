import type { BootFacts } from './boot-facts.ts';

/** One word of a POSIX shell, taken literally. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** User data for cloud-init: sets the machine's own end first, so that a boot that fails costs no more than its time. */
export function linuxBootScript(facts: BootFacts): string {
  return `${[
    '#!/bin/bash',
    'set -euo pipefail',
    'umask 022',
    `trap 'echo "examhall-boot: failed at line $LINENO" | tee /run/examhall-boot-failed >/dev/console || true' ERR`,
    ...holdDesktop(),
    ...settingsFile(facts),
    ...deadMan(facts.endsAt),
    ...(facts.archive === null ? [] : fetchArchive(facts.archive)),
    ...setUp(facts),
    'echo "examhall-boot: done"',
  ].join('\n')}\n`;
}

/**
 * The desktop of an image that has one waits for its settings alone: it would come up with those of this attempt before anything
 * is set up for it, and be taken for a machine that is ready. `configure.sh` starts it.
 */
function holdDesktop(): string[] {
  return ['systemctl disable --now examhall-desktop.target >/dev/null 2>&1 || true'];
}

function settingsFile({ privilege, resolution, expiresAt }: BootFacts): string[] {
  return [
    'mkdir -p /etc/examhall /opt/examhall',
    "cat >/etc/examhall/sandbox.env <<'EOF'",
    `EXAMHALL_PRIVILEGE=${privilege}`,
    `EXAMHALL_RESOLUTION=${resolution}`,
    `EXAMHALL_EXPIRES_AT=${expiresAt}`,
    'EOF',
  ];
}

/** By the clock and by the time that passed, so that neither a reboot nor another clock prolongs it for long. */
function deadMan(endsAt: Date): string[] {
  const at = endsAt.toISOString().slice(0, 19).replace('T', ' ');
  return [
    `ends_at=${quoteShell(`${at} UTC`)}`,
    'left=$(($(date -d "$ends_at" +%s) - $(date +%s)))',
    'if [ "$left" -lt 60 ]; then left=60; fi',
    "cat >/etc/systemd/system/examhall-deadman.service <<'EOF'",
    '[Unit]',
    'Description=End of this Exam Hall sandbox',
    'DefaultDependencies=no',
    '[Service]',
    'Type=oneshot',
    'ExecStart=/bin/systemctl --force poweroff',
    'EOF',
    'cat >/etc/systemd/system/examhall-deadman.timer <<EOF',
    '[Unit]',
    'Description=Time left to this Exam Hall sandbox',
    '[Timer]',
    'OnCalendar=$ends_at',
    'OnActiveSec=${left}s',
    'AccuracySec=5s',
    'Persistent=true',
    'Unit=examhall-deadman.service',
    '[Install]',
    'WantedBy=timers.target',
    'EOF',
    'systemctl daemon-reload',
    'systemctl enable --now examhall-deadman.timer',
  ];
}

function fetchArchive({ url, sha256 }: { readonly url: string; readonly sha256: string }): string[] {
  return [
    `url=${quoteShell(url)}`,
    'curl -fsSL --retry 8 --retry-all-errors --retry-delay 3 --connect-timeout 15 --max-time 600 -o /opt/examhall/boot.tar.gz "$url"',
    `echo ${quoteShell(`${sha256}  /opt/examhall/boot.tar.gz`)} | sha256sum -c --quiet -`,
    'rm -rf /opt/examhall/boot',
    'mkdir /opt/examhall/boot',
    'tar -xzf /opt/examhall/boot.tar.gz -C /opt/examhall/boot --no-same-owner',
  ];
}

function setUp({ isBare, archive }: BootFacts): string[] {
  const install = '/bin/bash /opt/examhall/boot/linux/install.sh';
  return [
    ...(isBare ? [install] : archive === null ? [] : [`${install} --files-only`]),
    '/bin/bash /opt/examhall/linux/configure.sh',
  ];
}
