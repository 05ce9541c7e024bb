import { describe, expect, it } from 'vitest';
import { registeredPorts, withPorts } from '#runtime/ports-registry';
import { World } from '#test/builders/world';

describe('the ports of the host at hand', () => {
  it('are none where no host has registered any', () => {
    expect(registeredPorts()).toBeUndefined();
  });

  it('are those of the caller, for handlers side by side that take them before they wait', async () => {
    const [one, other] = [new World().ports, new World().ports];
    const seen = async () => {
      const ports = registeredPorts();
      await new Promise((resolve) => setImmediate(resolve));
      return ports;
    };
    const both = await Promise.all([withPorts(one, seen), withPorts(other, seen)]);
    expect(both[0]).toBe(one);
    expect(both[1]).toBe(other);
    expect(registeredPorts()).toBeUndefined();
  });

  it('are nobody else’s once the work has begun or failed', async () => {
    const { ports } = new World();
    const late = withPorts(ports, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return registeredPorts();
    });
    expect(await late).toBeUndefined();
    const broken = (): never => {
      throw new Error('at once');
    };
    expect(() => withPorts(ports, broken)).toThrow('at once');
    expect(registeredPorts()).toBeUndefined();
  });

  it('may be others inside', () => {
    const [one, other] = [new World().ports, new World().ports];
    withPorts(one, () => {
      withPorts(other, () => expect(registeredPorts()).toBe(other));
      expect(registeredPorts()).toBe(one);
    });
  });
});
