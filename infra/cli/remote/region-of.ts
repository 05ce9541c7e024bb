import type { HostOptions } from './host-options.ts';
import { regionOfHost } from './sign-request.ts';

/** AWS region of a host: its address tells it, else options, environment and profile do. @throws RemoteError */
export async function regionOf(baseUrl: URL, options: HostOptions): Promise<string> {
  const told = regionOfHost(baseUrl);
  if (told !== null) return told;
  const { openAwsSession } = await import('./aws-session.ts');
  return (await openAwsSession(options, process.env)).region;
}
