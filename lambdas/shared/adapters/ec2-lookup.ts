import {
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeNetworkInterfacesCommand,
  DescribeVolumesCommand,
  type EC2Client,
  type Filter,
  type Instance,
  type InstanceStatus,
  type NetworkInterface,
  type Volume,
} from '@aws-sdk/client-ec2';
import { askEc2 } from './ec2-faults.ts';
import { isAnswerNamed } from './aws-service-fault.ts';

/** Ids that one request asks for, and how long the first waits for the others to come. */
const MOST_IDS = 100;
const GATHER_MILLISECONDS = 20;
const PAGE = 200;

interface Seen {
  readonly instance: Instance | undefined;
  readonly status: InstanceStatus | undefined;
}

interface Question {
  readonly id: string;
  readonly answer: (seen: Seen) => void;
  readonly fail: (error: unknown) => void;
}

/** Questions about machines. Those that come together are asked in one request: EC2 counts requests, not machines. */
export class Ec2Lookup {
  readonly #client: EC2Client;
  #waiting: Question[] = [];

  constructor(client: EC2Client) {
    this.#client = client;
  }

  /** One machine with its health, by its id; what EC2 does not know is undefined. */
  async seen(id: string): Promise<Seen> {
    return await new Promise<Seen>((answer, fail) => {
      this.#waiting.push({ id, answer, fail });
      if (this.#waiting.length === 1) setTimeout(() => void this.#askAll(), GATHER_MILLISECONDS);
    });
  }

  async #askAll(): Promise<void> {
    const questions = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < questions.length; start += MOST_IDS) {
      const some = questions.slice(start, start + MOST_IDS);
      try {
        const seen = await this.#ask([...new Set(some.map(({ id }) => id))]);
        for (const { id, answer } of some) answer(seen(id));
      } catch (error) {
        for (const { fail } of some) fail(error);
      }
    }
  }

  async #ask(ids: readonly string[]): Promise<(id: string) => Seen> {
    const instances = await this.instances([{ Name: 'instance-id', Values: [...ids] }]);
    const there = instances
      .filter(({ State }) => State?.Name !== 'terminated')
      .flatMap(({ InstanceId = [] }) => InstanceId);
    const statuses = there.length === 0 ? [] : await this.#statuses(there);
    return (id) => ({
      instance: instances.find(({ InstanceId }) => InstanceId === id),
      status: statuses.find(({ InstanceId }) => InstanceId === id),
    });
  }

  /** A machine that is gone between two requests has no health. */
  async #statuses(ids: readonly string[]): Promise<readonly InstanceStatus[]> {
    const command = new DescribeInstanceStatusCommand({ InstanceIds: [...ids], IncludeAllInstances: true });
    try {
      return (await askEc2(() => this.#client.send(command))).InstanceStatuses ?? [];
    } catch (error) {
      if (isAnswerNamed(error, 'InvalidInstanceID.NotFound')) return [];
      throw error;
    }
  }

  async instances(Filters: Filter[]): Promise<readonly Instance[]> {
    return await allPages(async (NextToken) => await this.instancePage(Filters, NextToken));
  }

  async instancePage(Filters: Filter[], NextToken: string | undefined): Promise<Page<Instance>> {
    const command = new DescribeInstancesCommand({ Filters, MaxResults: PAGE, NextToken });
    const { Reservations = [], NextToken: next } = await askEc2(() => this.#client.send(command));
    return { items: Reservations.flatMap(({ Instances = [] }) => Instances), next };
  }

  async volumes(Filters: Filter[]): Promise<readonly Volume[]> {
    return await allPages(async (NextToken) => await this.volumePage(Filters, NextToken));
  }

  async volumePage(Filters: Filter[], NextToken: string | undefined): Promise<Page<Volume>> {
    const command = new DescribeVolumesCommand({ Filters, MaxResults: PAGE, NextToken });
    const { Volumes = [], NextToken: next } = await askEc2(() => this.#client.send(command));
    return { items: Volumes, next };
  }

  async interfaces(Filters: Filter[]): Promise<readonly NetworkInterface[]> {
    return await allPages(async (NextToken) => await this.interfacePage(Filters, NextToken));
  }

  async interfacePage(Filters: Filter[], NextToken: string | undefined): Promise<Page<NetworkInterface>> {
    const command = new DescribeNetworkInterfacesCommand({ Filters, MaxResults: PAGE, NextToken });
    const { NetworkInterfaces = [], NextToken: next } = await askEc2(() => this.#client.send(command));
    return { items: NetworkInterfaces, next };
  }
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

async function allPages<T>(page: (token: string | undefined) => Promise<Page<T>>): Promise<readonly T[]> {
  const all: T[] = [];
  let token: string | undefined;
  do {
    const { items, next } = await page(token);
    all.push(...items);
    token = next === '' ? undefined : next;
  } while (token !== undefined);
  return all;
}
