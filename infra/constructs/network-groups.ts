import * as ec2 from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';
import { SANDBOX_CUA_PORT } from '#core/guest-address';

const HTTPS = ec2.Port.tcp(443);

/** A group that lets nothing in or out until a rule says so. */
export function closedGroup(scope: Construct, id: string, vpc: ec2.IVpc, description: string): ec2.SecurityGroup {
  return new ec2.SecurityGroup(scope, id, { vpc, description, allowAllOutbound: false, disableInlineRules: false });
}

/** Out to the internet on these ports, in from nowhere. */
export function allowInternet(group: ec2.SecurityGroup, ports: readonly number[]): void {
  for (const port of ports)
    group.addEgressRule(ec2.Peer.anyIpv4(), ec2.Port.tcp(port), `internet on port ${String(port)}`);
}

/** Without the prefix list any address may be named: the subnet's only route beside the VPC's own is the one to S3. */
export function allowS3(group: ec2.SecurityGroup, prefixListId: string | null): void {
  const peer = prefixListId === null ? ec2.Peer.anyIpv4() : ec2.Peer.prefixList(prefixListId);
  group.addEgressRule(peer, HTTPS, 'S3 through the gateway endpoint');
}

export function allowEndpoints(group: ec2.SecurityGroup, endpoints: ec2.ISecurityGroup): void {
  group.addEgressRule(endpoints, HTTPS, 'AWS endpoints in the VPC');
}

/** Opens the endpoints' own group to a sandbox. */
export function admitSandbox(endpoints: ec2.SecurityGroup, sandbox: ec2.ISecurityGroup, profile: string): void {
  endpoints.addIngressRule(sandbox, HTTPS, `sandboxes of profile ${profile}`);
}

/** Opens the cua port of sandboxes to the function that calls them, and lets that function out to those and to the machines that are listed. */
export function allowCalls(
  calls: ec2.SecurityGroup,
  sandboxes: ReadonlyMap<string, ec2.SecurityGroup>,
  staticHosts: readonly string[],
): void {
  const port = ec2.Port.tcp(SANDBOX_CUA_PORT);
  for (const [profile, group] of sandboxes) {
    calls.addEgressRule(group, port, `cua-server of sandboxes of profile ${profile}`);
    group.addIngressRule(calls, port, 'calls to the cua-server');
  }
  for (const host of staticHosts) {
    const [address = '', listening = ''] = host.split(':');
    calls.addEgressRule(ec2.Peer.ipv4(`${address}/32`), ec2.Port.tcp(Number(listening)), `static machine ${host}`);
  }
}
