/** What may become of a packet, and how likely each outcome is. */
import { hostPort } from '../../../net/ip.ts'
import { impossible, plus } from './fraction.ts'
import type { Fraction } from './fraction.ts'

/** Chances as text, by outcome, e.g. `{ 'to 10.1.0.5:8080, hidden': '1/2', … }`. */
export type Fate = Readonly<Record<string, string>>

export interface Ending {
  readonly chance: Fraction
  readonly outcome: string
}

export interface Arrival {
  /** Undefined when nobody gave the packet an endpoint. */
  readonly endpoint: { readonly ip: string; readonly port: number } | undefined
  /** The endpoint sees an address of this node instead of the source. */
  readonly isHidden: boolean
}

export function describeArrival({ endpoint, isHidden }: Arrival): string {
  const where = endpoint === undefined ? 'untouched' : `to ${hostPort(endpoint.ip, endpoint.port)}`
  return isHidden ? `${where}, hidden` : where
}

export function fateOf(endings: readonly Ending[]): Fate {
  const chances = new Map<string, Fraction>()
  for (const { chance, outcome } of endings) chances.set(outcome, plus(chances.get(outcome) ?? impossible, chance))
  return Object.fromEntries(
    [...chances]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([outcome, { over, under }]) => [outcome, `${over}/${under}`]),
  )
}
