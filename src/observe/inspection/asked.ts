/** What is asked of the pages that look into the data plane. */
import type { InspectedFamily } from './inspected-family.ts'

/** `?actual`, `?actual=1`, `?actual=true`. */
export function isAsked(query: URLSearchParams, name: string): boolean {
  return query.has(name) && !['0', 'false'].includes(query.get(name) ?? '')
}

/** Those of `family=`, or all. A text says what is wrong. */
export function familiesAsked<F extends Pick<InspectedFamily, 'family'>>(
  families: readonly F[],
  query: URLSearchParams,
): readonly F[] | string {
  const name = query.get('family')
  const chosen = families.filter(({ family }) => name === null || family === name)
  if (chosen.length > 0) return chosen
  return `family=${name} is not programmed here: use ${families.map(({ family }) => `family=${family}`).join(' or ')}`
}
