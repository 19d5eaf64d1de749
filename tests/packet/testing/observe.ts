/** Watches a flow until it has shown all it may do, and says it in words that compare well. */
import type { Family } from '../../../src/net/ip.ts'
import { plans } from './address-plan.ts'
import type { Outcome } from './ask.ts'
import type { Rig } from './rig.ts'
import { isOnNode } from './row.ts'
import type { Row, Source, Target, Expectation } from './row.ts'

/** What each flow of the row should show, and what it shows. */
export async function compareRow(
  rig: Rig,
  row: Row,
  family: Family,
): Promise<{ expected: string[]; observed: string[] }> {
  const flows = row.from.flatMap((from) => row.to.map((to) => ({ from, to })))
  const observed = flows.map(async ({ from, to }) =>
    sentence(from, to, await observe(rig, row.expect, from, to, family)),
  )
  const expected = flows.map(({ from, to }) => sentence(from, to, [...wordsOf(row.expect, to)]))
  return { expected, observed: await Promise.all(observed) }
}

/** Tries enough to meet, for all practical purposes, each of a handful of endpoints. */
const mostTries = 100
/** A wrong rule that leads elsewhere one time in three would hide from a single try; a refusal has no dice. */
const fewestTries: Readonly<Record<Expectation['kind'], number>> = { reaches: 8, untouched: 4, refused: 1, dropped: 1 }
/** A busy machine may need long to answer; silence is only waited for where it is expected. */
const [patienceMs, silenceMs] = [5000, 700]

async function observe(
  rig: Rig,
  expectation: Expectation,
  from: Source,
  to: Target,
  family: Family,
): Promise<string[]> {
  const missing = wordsOf(expectation, to)
  const seen = new Set<string>()
  const fewest = fewestTries[expectation.kind]
  const patience = expectation.kind === 'dropped' ? silenceMs : patienceMs
  for (let tries = 0; tries < mostTries && (tries < fewest || missing.size > 0); tries++) {
    const outcome = await rig.ask(from, to, family, patience)
    const words = describe(outcome, rig.whoIs(from, to, family).ip, family)
    seen.add(words)
    const isKnown = missing.delete(words) || wordsOf(expectation, to).has(words)
    if (!isKnown) break
  }
  return [...seen]
}

function wordsOf(expectation: Expectation, target: Target): Set<string> {
  switch (expectation.kind) {
    case 'reaches':
      return new Set(expectation.each.map(({ pod, seenAs }) => `${pod}:${target.port.target} sees the ${seenAs}`))
    case 'refused':
      return new Set(['refused'])
    case 'dropped':
      return new Set(['silence'])
    case 'untouched':
      return new Set([`answered by ${isOnNode(target) ? 'the node' : 'beyond'}`])
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

function sentence(from: Source, { door, service, port }: Target, words: readonly string[]): string {
  return `${from} → ${service.name} ${door} (${port.protocol} ${port.name}): ${[...words].sort().join(', ')}`
}
