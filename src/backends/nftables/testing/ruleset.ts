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
}

export function ruleset(chains: ReadonlyMap<string, KernelChain>, sets: ReadonlyMap<string, KernelSet>): Ruleset {
  const baseChains = [...chains.values()]
    .filter((chain): chain is BaseChain => chain.hook !== undefined)
    .sort((left, right) => left.hook.priority - right.hook.priority)
  return { chains, sets, baseChains }
}

export function exactSet(elements: Iterable<readonly [key: string, value: string]>): KernelSet {
  const byKey = new Map(elements)
  return { find: (key) => byKey.get(key.join(' . ')) }
}

/** The last field of each key is a prefix, or an address. */
export function prefixSet(keys: Iterable<string>): KernelSet {
  const byStart = new Map<string, Cidr[]>()
  for (const key of keys) {
    const fields = key.split(' . ')
    const last = fields.pop() ?? ''
    const start = fields.join(' . ')
    byStart.set(start, [...(byStart.get(start) ?? []), parsePrefix(last)])
  }
  return {
    find(key) {
      const ip = key.at(-1) ?? ''
      const cidrs = byStart.get(key.slice(0, -1).join(' . ')) ?? []
      return cidrs.some((cidr) => cidrContains(cidr, ip)) ? '' : undefined
    },
  }
}
