/** Reads what `nft list ruleset` printed, as far as kube-proxy's rules need it. */
import { parseRule } from '../../src/backends/nftables/testing/kernel-rule.ts'
import { exactSet, ruleset } from '../../src/backends/nftables/testing/ruleset.ts'
import type { KernelChain, KernelSet, Ruleset } from '../../src/backends/nftables/testing/ruleset.ts'
import type { ChainHook } from '../../src/dataplane/nft/nft.ts'

/** Undefined when the text has no such table. */
export function parseListing(text: string, table: string): Ruleset | undefined {
  const body = new RegExp(`^table ${table} \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(text)?.[1]
  if (body === undefined) return undefined
  const chains = new Map<string, KernelChain>()
  const sets = new Map<string, KernelSet>()
  for (const [, kind, name = '', block = ''] of body.matchAll(/^\t(chain|set|map) (\S+) \{\n([\s\S]*?)^\t\}/gm))
    if (kind === 'chain') chains.set(name, parseChain(block))
    else sets.set(name, exactSet(parseElements(block)))
  return ruleset(chains, sets)
}

function parseChain(block: string): KernelChain {
  const lines = block.split('\n').map((line) => line.trim())
  const [, type, hook, priority = ''] =
    lines.map((line) => /^type (filter|nat) hook (\w+) priority ([^;]+);/.exec(line)).find((match) => match !== null) ??
    []
  return {
    hook: type === undefined ? undefined : ({ type, hook, priority: priorityOf(priority) } as ChainHook),
    rules: lines.filter((line) => line !== '' && !/^(type|comment) /.test(line)).map(parseRule),
  }
}

const priorities: Readonly<Record<string, number>> = { dstnat: -100, filter: 0, srcnat: 100 }

/** `dstnat - 10`, `filter`, `-110`. */
function priorityOf(text: string): number {
  const [name = '', sign, offset] = text.split(' ')
  const base = priorities[name] ?? Number(name)
  return sign === undefined ? base : base + Number(`${sign}${offset}`)
}

function parseElements(block: string): readonly (readonly [key: string, value: string])[] {
  const list = /elements = \{([^}]*)\}/.exec(block)?.[1] ?? ''
  return list
    .split(',')
    .map((element) =>
      element
        .replaceAll(/\s+/g, ' ')
        .replace(/comment "[^"]*" ?/, '')
        .trim(),
    )
    .filter((element) => element !== '')
    .map((element) => {
      const [key = '', value = ''] = element.split(' : ')
      return [key.trim(), value]
    })
}
