/** A machine of somebody else: other numbers, rights and servers, and nothing of ours but packages. */
export const THEIRS = `set -e
rm -rf /etc/systemd/system/examhall* /etc/systemd/system/*.wants/examhall* /etc/examhall /var/lib/examhall /opt/examhall/*.mjs /opt/examhall/linux /opt/examhall/boot
usermod -u 1000 user && groupmod -g 1000 user
mkdir -p ~user/.config/autostart && touch ~user/.config/autostart/cua.desktop ~user/own
chown -R user:user ~user
echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/theirs
printf '[Service]\\nExecStart=/usr/bin/python3 -m computer_server\\n[Install]\\nWantedBy=multi-user.target\\n' >/etc/systemd/system/theirs.service
systemctl enable -q theirs.service
printf '#!/bin/sh\\necho "$@" >>/opt/cleaned\\n' >/usr/bin/cloud-init && chmod 755 /usr/bin/cloud-init
id -u user`;

/** What one machine has after its work, and no copy of it may have. */
export const USED = `set -e
echo secret >/var/lib/examhall/key
mkdir -p /var/lib/examhall/jobs/job-1 /root/.ssh ~user/.ssh /etc/ssh /var/lib/systemd/timers /etc/systemd/system/timers.target.wants
touch /root/.ssh/authorized_keys ~user/.ssh/authorized_keys /etc/ssh/ssh_host_rsa_key /var/lib/systemd/timers/stamp-examhall-deadman.timer
touch /etc/systemd/system/examhall-deadman.service /etc/systemd/system/examhall-deadman.timer
ln -s ../examhall-deadman.timer /etc/systemd/system/timers.target.wants/`;

/** Prints only what is to be there after the seal, and every path that is not. */
export const LEFT = `echo "$(id -u user):$(id -g user) $(stat -c %u:%g ~user/own)"
if [ -f ~user/own ] && [ -x /opt/examhall/linux/verify.sh ]; then echo kept; fi
cat /opt/cleaned
find / -xdev \\( -name '*deadman*' -o -name sandbox.env -path '/etc/*' -o -path '/var/lib/examhall/key' -o -path '/var/lib/examhall/jobs/*' \
  -o -name authorized_keys -o -name 'ssh_host_*' -o -path /opt/examhall/boot.tar.gz -o -name theirs -path '/etc/sudoers.d/*' \
  -o -path '*.wants/theirs.service' -o -name cua.desktop \\) -print
echo end`;
