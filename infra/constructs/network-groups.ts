import * as ec2 from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';

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
