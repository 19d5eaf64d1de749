/** Who answers how often: what only many connections can show. */
import type { Family } from '../../../src/net/ip.ts'
import type { Rig } from './rig.ts'
import type { Source, Target } from './row.ts'

/** Each server of each pod counts for itself: `here-1:8080`. */
export async function tallyAnswers(
  rig: Rig,
  from: Source,
  target: Target,
  family: Family,
  times: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (let n = 0; n < times; n += atOnce) {
    const asked = Array.from({ length: atOnce }, () => whoAnswers(rig, from, target, family))
    for (const who of await Promise.all(asked)) counts.set(who, (counts.get(who) ?? 0) + 1)
  }
  return counts
}

const atOnce = 10

export async function whoAnswers(rig: Rig, from: Source, target: Target, family: Family): Promise<string> {
  const outcome = await rig.ask(from, target, family, 10_000)
  return outcome.kind === 'answer' ? `${outcome.answer.answeredBy}:${outcome.answer.port}` : outcome.kind
}

/** Pearson's sum: how far counts are from their shares, or from being equal. With fair dice its mean is their number less one. */
export function chiSquare(counts: readonly number[], weights: readonly number[] = counts.map(() => 1)): number {
  const perWeight = sumOf(counts) / sumOf(weights)
  return sumOf(
    counts.map((count, index) => {
      const expected = perWeight * (weights[index] ?? 0)
      return (count - expected) ** 2 / expected
    }),
  )
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

/** Whose count is further from its share than dice can explain: six standard deviations, once in 500 million. */
export function farFromShare(counts: ReadonlyMap<string, number>, shares: ReadonlyMap<string, number>): string[] {
  const times = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [...new Set([...counts.keys(), ...shares.keys()])].flatMap((who) => {
    const [count, share] = [counts.get(who) ?? 0, shares.get(who) ?? 0]
    const isNear = Math.abs(count - times * share) <= 6 * Math.sqrt(times * share * (1 - share))
    return isNear ? [] : [`${who} answered ${count} of ${times}, explained as ${times * share}`]
  })
}
