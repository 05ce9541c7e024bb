/**
 * Requests that functions make of the cloud for one unit on EC2, besides rows, objects and events. AWS charges nothing for those
 * to EC2 and Systems Manager, but its rate limits count them.
 */
export interface CloudCalls {
  readonly ec2Changes: number;
  readonly ec2Looks: number;
  readonly commands: number;
  readonly commandLooks: number;
  /** Calls of the function that reaches guests. */
  readonly guestCalls: number;
  /** Commands whose request and answer are objects, as `OBJECTS_OF_SEALED_REQUEST` says. */
  readonly sealedRequests: number;
}

const calls = (...counts: readonly [number, number, number, number, number, number]): CloudCalls => {
  const [ec2Changes, ec2Looks, commands, commandLooks, guestCalls, sealedRequests] = counts;
  return { ec2Changes, ec2Looks, commands, commandLooks, guestCalls, sealedRequests };
};

/**
 * By function, for a machine that is online after 40 seconds and an agent that is done at once. A test runs such a unit on a
 * stand-in for EC2 and counts; looks depend on how long things take, and are about this many.
 */
export const CLOUD_CALLS: Readonly<Record<string, CloudCalls>> = {
  'provision-sandbox': calls(1, 0, 0, 0, 0, 0),
  'await-sandbox': calls(0, 6, 1, 5, 0, 0),
  'stage-unit': calls(0, 0, 3, 4, 0, 2),
  'on-run-finished': calls(0, 0, 3, 6, 0, 3),
  'set-up-task': calls(0, 0, 0, 0, 5, 0),
  'run-agent': calls(0, 0, 2, 2, 4, 1),
  'collect-output': calls(0, 2, 4, 6, 1, 3),
  'release-sandbox': calls(1, 22, 0, 0, 0, 0),
};

/** Requests to S3 for one sealed request: question and answer are each put and got once. */
export const OBJECTS_OF_SEALED_REQUEST = { puts: 2, gets: 2 } as const;

/** All of them for one unit. */
export function cloudCallsOfUnit(): CloudCalls {
  const sum = (key: keyof CloudCalls): number =>
    Object.values(CLOUD_CALLS).reduce((total, each) => total + each[key], 0);
  return calls(
    sum('ec2Changes'),
    sum('ec2Looks'),
    sum('commands'),
    sum('commandLooks'),
    sum('guestCalls'),
    sum('sealedRequests'),
  );
}
