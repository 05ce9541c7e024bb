import { composeStaticMachines } from '#runtime/static-machines';
import type { SandboxSpec } from '#ports/sandbox-provider';
import { guestRunner } from '#test/unit/guest/guest-kit';

/** A host that attaches a machine, says so on one line, and lives until it is killed. */
const [root = '', locks = '', spec = ''] = process.argv.slice(2);
const runner = await guestRunner();
const files = async (): Promise<{ guestRunner: string; bridge: string }> => ({ guestRunner: runner, bridge: runner });
const { provider } = composeStaticMachines({ root, files, locks, onJobFinished: () => undefined });
const sandbox = await provider.acquire(JSON.parse(spec) as SandboxSpec);
process.stdout.write(`${JSON.stringify(sandbox)}\n`);
setInterval(() => undefined, 60_000);
