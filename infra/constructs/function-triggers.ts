import { Duration } from 'aws-cdk-lib';
import { EventField, Rule, RuleTargetInput, Schedule, type IEventBus, type IRuleTarget } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { COMMAND_SOURCE, EVENT_SOURCE, EXECUTION_SOURCE } from '#contracts/events';
import type { Trigger } from '#contracts/triggers';
import type { StageFunction } from './stage-function.ts';

export interface FunctionTriggersProps {
  readonly bus: IEventBus;
  /** Machines whose executions are followed. */
  readonly machineArns: readonly string[];
  /** Document whose commands are followed: whoever else sends commands in the account is none of our business. */
  readonly waitDocumentName: string;
  /** Where events end that could not be handed over. */
  readonly undelivered: IQueue;
}

/** EventBridge's own most for a target. */
const DELIVERY_RETRIES = 185;
const EVENT_AGE_HOURS = 24;
/** A tick that comes late is worth nothing: the next one does the same. */
const TICK_AGE_MINUTES = 5;

/** EventBridge counts rates in whole minutes; what is declared faster runs each minute, besides its events. */
export function rateMinutes(everySeconds: number): number {
  return Math.max(1, Math.round(everySeconds / 60));
}

type EventTrigger = Extract<Trigger, { kind: 'event' }>;

/** What tells our own executions and commands from those of everybody else in the account. */
function ownDetail(source: string, props: FunctionTriggersProps): Readonly<Record<string, unknown[]>> {
  if (source === COMMAND_SOURCE) return { 'document-name': [props.waitDocumentName] };
  if (source !== EXECUTION_SOURCE) return {};
  // Units run as children of the map, under the machine's name and the map's label.
  return { stateMachineArn: props.machineArns.flatMap((arn) => [arn, { prefix: `${arn}/` }]) };
}

/** Rules and schedules that start one function, as its declaration says. */
export class FunctionTriggers extends Construct {
  constructor(scope: Construct, id: string, target: StageFunction, props: FunctionTriggersProps) {
    super(scope, id);
    const { trigger } = target.declaration;
    if (trigger.kind === 'event') this.#followEvents(target, trigger, props);
    if (trigger.kind === 'schedule' || trigger.kind === 'event') {
      if (trigger.everySeconds !== undefined) this.#tick(target, trigger.everySeconds, props);
    }
  }

  /** The function is called with the event's detail, as on one computer. */
  #followEvents(target: StageFunction, trigger: EventTrigger, props: FunctionTriggersProps): void {
    const { also = [] } = trigger;
    for (const [index, heard] of [trigger, ...also].entries()) {
      const detail = { ...heard.detail, ...ownDetail(heard.source, props) };
      new Rule(this, index === 0 ? 'Events' : `Events${String(index + 1)}`, {
        description: `Exam Hall: ${heard.detailTypes.join(', ')} to ${target.declaration.name}`,
        ...(heard.source === EVENT_SOURCE ? { eventBus: props.bus } : {}),
        eventPattern: {
          source: [heard.source],
          detailType: [...heard.detailTypes],
          ...(Object.keys(detail).length === 0 ? {} : { detail }),
        },
        targets: [
          this.#target(target, {
            event: RuleTargetInput.fromEventPath(EventField.fromPath('$.detail')),
            undelivered: props.undelivered,
            age: Duration.hours(EVENT_AGE_HOURS),
          }),
        ],
      });
    }
  }

  #tick(target: StageFunction, everySeconds: number, { undelivered }: FunctionTriggersProps): void {
    new Rule(this, 'Ticks', {
      description: `Exam Hall: ${target.declaration.name} by the clock`,
      schedule: Schedule.rate(Duration.minutes(rateMinutes(everySeconds))),
      targets: [
        this.#target(target, {
          event: RuleTargetInput.fromObject({}),
          undelivered,
          age: Duration.minutes(TICK_AGE_MINUTES),
        }),
      ],
    });
  }

  #target(
    target: StageFunction,
    { event, undelivered, age }: { event: RuleTargetInput; undelivered: IQueue; age: Duration },
  ): IRuleTarget {
    return new LambdaFunction(target.alias, {
      event,
      deadLetterQueue: undelivered,
      retryAttempts: DELIVERY_RETRIES,
      maxEventAge: age,
    });
  }
}
