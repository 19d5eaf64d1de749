/** The rules of one route piece by piece, and how they compare with those of the kernel. */
import type { InspectedPiece, PlannedPiece } from '../../../core/inspection.ts'
import { compareRules, thereOrMissing } from '../../../core/inspect-pieces.ts'
import type { Look, PlannedRule } from '../../../core/inspect-pieces.ts'
import type { Family } from '../../../net/ip.ts'
import { canonicalRule } from '../canonical-rule.ts'
import type { ChainPath, Iptables } from '../iptables.ts'
import { rulesOfChains } from '../rules-of-chains.ts'
import { rulesOf } from './rendered-chain.ts'
import type { RenderedChain } from './rendered-chain.ts'
import type { RenderedRoute, SharedLine } from './rendered-rules.ts'

export interface RulePieces {
  /** Among the rules of other routes. */
  readonly shared: readonly (PlannedRule & { readonly path: ChainPath })[]
  readonly chains: readonly ChainPieces[]
}

interface ChainPieces {
  readonly path: ChainPath
  readonly piece: PlannedPiece
  readonly rules: readonly PlannedRule[]
}

export function rulePieces({ shared, chains }: RenderedRoute, family: Family): RulePieces {
  const endpointsByChain = new Map(chains.flatMap((chain) => endpointOf(chain) ?? []))
  const ruleOf = ({ table, chain, rule }: SharedLine): PlannedRule => {
    const readsAs = canonicalRule(rule, family)
    // A rule that all share may lead to a port of this process, which is no endpoint.
    const endpoint = endpointsByChain.get(jumpIn(rule) === 'DNAT' ? chain : (jumpIn(rule) ?? ''))
    const piece = { kind: 'rule', where: `${table}/${chain}`, text: `-A ${chain} ${readsAs}` }
    return { readsAs, piece: endpoint === undefined ? piece : { ...piece, endpoint } }
  }
  return {
    shared: shared.map((line) => ({ ...ruleOf(line), path: `${line.table}/${line.chain}` })),
    chains: chains.map((chain) => ({
      path: `nat/${chain.name}`,
      piece: { kind: 'chain', where: 'nat', text: `:${chain.name} - [0:0]` },
      rules: rulesOf(chain).map((rule) => ruleOf({ table: 'nat', chain: chain.name, rule })),
    })),
  }
}

export function allRulePieces({ shared, chains }: RulePieces): readonly PlannedPiece[] {
  return [...shared, ...chains.flatMap((chain) => [chain, ...chain.rules])].map(({ piece }) => piece)
}

/** In chains that all share, the order says nothing, and rules of others are none of the route's business. */
export function rulesLook(pieces: RulePieces, iptables: Iptables): Look {
  const { shared, chains } = pieces
  return {
    pieces: allRulePieces(pieces),
    async compare(signal) {
      const found = await rulesOfChains(iptables, new Set([...shared, ...chains].map(({ path }) => path)), signal)
      const countsByPath = new Map([...found].map(([path, rules]) => [path, countsOf(rules)]))
      return [
        ...shared.map(({ path, piece, readsAs }) => thereOrMissing(piece, takeOne(countsByPath.get(path), readsAs))),
        ...chains.flatMap(({ path, piece, rules }): readonly InspectedPiece[] => [
          thereOrMissing(piece, found.has(path)),
          ...compareRules(rules, found.get(path), { kind: 'rule', where: path }),
        ]),
      ]
    },
  }
}

function endpointOf(chain: RenderedChain): readonly [chain: string, endpoint: string][] | undefined {
  const endpoint = targetIn(chain.lines)
  return endpoint === undefined ? undefined : [[chain.name, endpoint]]
}

/** The last one: those for ranges of ports, which have no port, come first. */
function targetIn(rule: string): string | undefined {
  return /.* --to-destination (\S+)/s.exec(` ${rule}`)?.[1]
}

function jumpIn(rule: string): string | undefined {
  return / -j (\S+)/.exec(` ${rule}`)?.[1]
}

/** A Service may name an address twice, and then the same rule is there twice. */
function countsOf(rules: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const rule of rules) counts.set(rule, (counts.get(rule) ?? 0) + 1)
  return counts
}

function takeOne(counts: Map<string, number> | undefined, rule: string): boolean {
  const count = counts?.get(rule) ?? 0
  if (count > 0) counts?.set(rule, count - 1)
  return count > 0
}
