import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guestAddressProblem, SANDBOX_CUA_PORT } from '#core/guest-address';

const LISTED = ['10.9.8.7:8000', '203.0.113.4:5000'];
const octets = (address: string): readonly number[] => address.split('.').map(Number);
/** Said again in other words: by the first two octets. */
function isPrivate(address: string): boolean {
  const [first = -1, second = -1] = octets(address);
  if (first === 10) return true;
  if (first === 172) return second >= 16 && second <= 31;
  if (first === 192) return second === 168;
  return first === 100 && second >= 64 && second <= 127;
}

describe('an address that calls may go to', () => {
  it.each(['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.254', '192.168.0.9', '100.64.1.1', '100.127.0.1'])(
    'is a private one on the cua port: %s',
    (address) => {
      expect(guestAddressProblem(`http://${address}:${String(SANDBOX_CUA_PORT)}`, [])).toBeNull();
      expect(guestAddressProblem(`http://${address}:${String(SANDBOX_CUA_PORT)}/`, [])).toBeNull();
    },
  );

  it('or one of the list, on the port that is listed with it', () => {
    for (const host of LISTED) expect(guestAddressProblem(`http://${host}`, LISTED)).toBeNull();
    expect(guestAddressProblem('http://203.0.113.4:5001', LISTED)).toContain('must be a private address');
    expect(guestAddressProblem('http://10.9.8.7:8001', LISTED)).toContain('must be on port 5000');
  });

  it.each([
    ['the metadata service', 'http://169.254.169.254:5000'],
    ["the function's own runtime", 'http://127.0.0.1:5000'],
    ['any address', 'http://0.0.0.0:5000'],
    ['a public address', 'http://93.184.216.34:5000'],
    ['a neighbour of a private range', 'http://172.32.0.1:5000'],
    ['a name', 'http://sandbox.internal:5000'],
    ['a name that begins as an address', 'http://10.0.0.1.example.com:5000'],
    ['IPv6', 'http://[fd00:ec2::254]:5000'],
    ['another port', 'http://10.0.0.1:22'],
    ['no port', 'http://10.0.0.1'],
    ['credentials', 'http://a:b@10.0.0.1:5000'],
    ['credentials that look like an address', 'http://10.0.0.1:5000@evil.example'],
    ['a path', 'http://10.0.0.1:5000/admin'],
    ['a query', 'http://10.0.0.1:5000?x=1'],
    ['TLS', 'https://10.0.0.1:5000'],
    ['octal', 'http://012.0.0.1:5000'],
    ['hexadecimal', 'http://0x0a.0.0.1:5000'],
    ['one number', 'http://167772161:5000'],
    ['too large an octet', 'http://10.0.0.256:5000'],
    ['a space before it', ' http://10.0.0.1:5000'],
    ['a line after it', 'http://10.0.0.1:5000\n'],
    ['nothing', ''],
  ])('is not %s: %s', (_, url) => {
    expect(guestAddressProblem(url, LISTED)).toMatch(/^must be /u);
  });

  it('is private or listed, for any address, port and list', () => {
    const byte = fc.nat({ max: 255 });
    const first = fc.oneof(byte, fc.constantFrom(10, 100, 127, 169, 172, 192));
    const address = fc.tuple(first, byte, byte, byte).map((parts) => parts.join('.'));
    const port = fc.oneof(fc.constant(SANDBOX_CUA_PORT), fc.integer({ min: 1, max: 65_535 }));
    fc.assert(
      fc.property(address, port, fc.boolean(), (host, at, isListed) => {
        const listed = isListed ? [`${host}:${String(at)}`] : [];
        const isAllowed = guestAddressProblem(`http://${host}:${String(at)}`, listed) === null;
        expect(isAllowed).toBe(isListed || (isPrivate(host) && at === SANDBOX_CUA_PORT));
      }),
      { numRuns: 2000 },
    );
  });
});
