import { describe, expect, it } from 'vitest';
import { AGENT_ACCOUNTS } from '#core/boot-script';
import { sealScript } from '#core/image-adoption-scripts';

describe('the seal of an adopted image', () => {
  it('leaves a copy of a Windows machine nobody that it logs on before it is set up, nor what the machine had noted', () => {
    const text = sealScript('windows');
    for (const name of ['key', 'sandbox.json', 'boot-done']) expect(text).toContain(`'${name}'`);
    expect(text).toContain(`-Name AutoAdminLogon -Value '0'`);
    expect(text).toContain(`-Name @('DefaultPassword', 'ForceAutoLogon')`);
    expect(text).toContain(`Disable-LocalUser -Name '${AGENT_ACCOUNTS.windows.name}'`);
    expect(text).toContain(`Get-ScheduledTask -TaskName 'ExamHall-*'`);
    expect(text.indexOf('AutoAdminLogon')).toBeLessThan(text.indexOf('EC2Launch.exe'));
  });

  it('leaves a copy of a Linux machine with no desktop that would start before its first boot has set it up', () => {
    const text = sealScript('linux');
    const [disabled = -1, settings = -1, asked = -1] = [
      'systemctl disable --now examhall-desktop.target',
      'rm -rf /var/lib/examhall/key',
      'systemctl is-enabled --quiet examhall-desktop.target',
    ].map((each) => text.indexOf(each));
    expect(disabled).toBeGreaterThan(0);
    expect(disabled).toBeLessThan(settings);
    expect(text.slice(asked)).toMatch(/^systemctl is-enabled [^\n]+; then exit 1; fi\necho DONE\n$/u);
  });
});
