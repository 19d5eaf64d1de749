/** Watches a flow until it has shown all it may do, and says it in words that compare well. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Family } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import { answerDeadlineMs } from './answer-deadline.ts'
import type { Outcome } from './ask.ts'
import type { Explained } from './explained.ts'
import type { Rig } from './rig.ts'
import { isOnNode } from './row.ts'
import type { Row, Source, Target, Expectation } from './row.ts'

export interface Flow {
  readonly from: Source
  readonly to: Target
  readonly family: Family
  readonly expectation: Expectation
}

/** What each flow of the row should show, and what it shows. */
export async function compareRow(
  rig: Rig,
  row: Row,
  family: Family,
): Promise<{ readonly expected: readonly string[]; readonly observed: readonly string[] }> {
  const compared = await Promise.all(flowsOf(row, family).map((flow) => compareFlow(rig, flow)))
  return { expected: compared.map(({ expected }) => expected), observed: compared.map(({ observed }) => observed) }
}

export function expectedOf(row: Row, family: Family): readonly string[] {
  return flowsOf(row, family).map((flow) => sentence(flow, wordsOf(flow)))
}

/** The same, as `fairlead explain` has it. */
export function explainedRow(explained: Explained, row: Row, family: Family): readonly string[] {
  return flowsOf(row, family).map((flow) => {
    const isListened = row.expect.kind === 'untouched'
    return sentence(flow, explained.words(flow.from, flow.to, family, isListened))
  })
}

function flowsOf(row: Row, family: Family): readonly Flow[] {
  return row.from.flatMap((from) => row.to.map((to) => ({ from, to, family, expectation: row.expect })))
}

export async function compareFlow(
  rig: Rig,
  flow: Flow,
): Promise<{ readonly expected: string; readonly observed: string }> {
  const observed = await observe(rig, flow)
  return { expected: sentence(flow, wordsOf(flow)), observed: sentence(flow, observed) }
}

/** What the flows do that they should not; nothing, hopefully. */
export async function flowFaults(rig: Rig, flows: readonly Flow[]): Promise<readonly string[]> {
  const compared = await Promise.all(flows.map((flow) => compareFlow(rig, flow)))
  return compared.filter(({ observed, expected }) => observed !== expected).map(({ observed }) => observed)
}

/** Tries enough to meet, for all practical purposes, each of a handful of endpoints. */
const mostTries = 100
/** A wrong rule that leads elsewhere one time in three would hide from a single try; a refusal has no dice. */
const fewestTries: Readonly<Record<Expectation['kind'], number>> = { reaches: 8, untouched: 4, refused: 1, dropped: 1 }
/**
 * A busy machine may need long to answer; silence is only waited for where it is expected. Over links without delay, the
 * refusal of an IPv6 connection comes while the socket is still in connect(), and Linux 6.18 heeds only the next one, for
 * the second SYN after a second.
 */
const [patienceMs, silenceMs] = [answerDeadlineMs(5000), 1500]

async function observe(rig: Rig, flow: Flow): Promise<ReadonlySet<string>> {
  const { from, to, family, expectation } = flow
  const [known, missing] = [wordsOf(flow), wordsOf(flow)]
  const seen = new Set<string>()
  const fewest = fewestTries[expectation.kind]
  const patience = expectation.kind === 'dropped' ? silenceMs : patienceMs
  for (let tries = 0; tries < mostTries && (tries < fewest || missing.size > 0); tries++) {
    // Round robin gives callers that take turns one endpoint each: then lose step.
    if (tries >= fewest) await sleep(10 * Math.random())
    const outcome = await rig.ask(from, to, family, patience)
    const words = describe(outcome, rig.whoIs(from, to, family).ip, family)
    seen.add(words)
    missing.delete(words)
    if (!known.has(words)) break
  }
  return seen
}

function wordsOf({ to, expectation }: Flow): Set<string> {
  switch (expectation.kind) {
    case 'reaches':
      return new Set(expectation.each.map(({ pod, seenAs }) => `${pod}:${to.port.target} sees the ${seenAs}`))
    case 'refused':
      return new Set(['refused'])
    case 'dropped':
      return new Set(['silence'])
    case 'untouched':
      return new Set([`answered by ${isOnNode(to) ? 'the node' : 'beyond'}`])
    default:
      return expectation satisfies never
  }
}

function describe(outcome: Outcome, clientIp: string, family: Family): string {
  if (outcome.kind === 'failed') return `failed with ${outcome.code}`
  if (outcome.kind !== 'answer') return outcome.kind
  const { answeredBy, sawSource, port } = outcome.answer
  if (answeredBy === 'beyond' || answeredBy === 'the node') return `answered by ${answeredBy}`
  const { nodeIP } = plans[family]
  const seen = sawSource === nodeIP ? 'the node' : sawSource === clientIp ? 'the client' : sawSource
  return `${answeredBy}:${port} sees ${seen}`
}

function sentence({ from, to, family }: Flow, words: ReadonlySet<string>): string {
  const { door, service, port } = to
  return `${family}: ${from} → ${service.name} ${door} (${port.protocol} ${port.name}): ${[...words].sort().join(', ')}`
}
