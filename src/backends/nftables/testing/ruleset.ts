/** A table as packets meet it. */
import type { ChainHook } from '../../../dataplane/nft/nft.ts'
import type { Cidr } from '../../../net/ip.ts'
import { cidrContains } from '../../../net/ip.ts'
import { parsePrefix } from './prefix.ts'
import type { KernelRule } from './kernel-rule.ts'

export interface Ruleset {
  readonly chains: ReadonlyMap<string, KernelChain>
  readonly sets: ReadonlyMap<string, KernelSet>
  /** In the order in which packets meet them. */
  readonly baseChains: readonly BaseChain[]
}

export interface KernelChain {
  readonly hook: ChainHook | undefined
  readonly rules: readonly KernelRule[]
}

interface BaseChain extends KernelChain {
  readonly hook: ChainHook
}

export interface KernelSet {
  /** The value, which is empty in a set; undefined when there is no such element. */
  find(key: readonly string[]): string | undefined
  /** How often each value, or none, is found behind the key with a number below `choices`. */
  tally(key: readonly string[], choices: number): Tally
}

export type Tally = ReadonlyMap<string | undefined, number>

export function ruleset(chains: ReadonlyMap<string, KernelChain>, sets: ReadonlyMap<string, KernelSet>): Ruleset {
  const baseChains = [...chains.values()]
    .filter((chain): chain is BaseChain => chain.hook !== undefined)
    .sort((left, right) => left.hook.priority - right.hook.priority)
  return { chains, sets, baseChains }
}

export function exactSet(elements: Iterable<readonly [key: string, value: string]>): KernelSet {
  const byKey = new Map(elements)
  // A Maglev table has thousands, and many packets ask.
  const tallies = new Map<string, Tally>()
  return {
    find: (key) => byKey.get(key.join(' . ')),
    tally(key, choices) {
      const start = key.join(' . ')
      const id = `${start} of ${choices}`
      const known = tallies.get(id)
      if (known !== undefined) return known
      const counts = new Map<string | undefined, number>()
      for (let index = 0; index < choices; index++) {
        const value = byKey.get(`${start} . ${index}`)
        counts.set(value, (counts.get(value) ?? 0) + 1)
      }
      tallies.set(id, counts)
      return counts
    },
  }
}

/** Fields of keys may be prefixes, or ranges of numbers. */
export function intervalSet(elements: Iterable<readonly [key: string, value: string]>): KernelSet {
  const all = Array.from(elements, ([key, value]) => ({ fields: key.split(' . ').map(intervalOf), value }))
  const find = (key: readonly string[]) =>
    all.find(({ fields }) => fields.every((covers, index) => covers(key[index] ?? '')))?.value
  return {
    find,
    tally(key, choices) {
      const counts = new Map<string | undefined, number>()
      for (let index = 0; index < choices; index++) {
        const value = find([...key, String(index)])
        counts.set(value, (counts.get(value) ?? 0) + 1)
      }
      return counts
    },
  }
}

function intervalOf(text: string): (value: string) => boolean {
  const [first = '', last] = text.split('-')
  if (last !== undefined) return (value) => Number(value) >= Number(first) && Number(value) <= Number(last)
  if (!text.includes('/')) return (value) => value === text
  const cidr: Cidr = parsePrefix(text)
  return (value) => cidrContains(cidr, value)
}
