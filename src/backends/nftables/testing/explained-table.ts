/** Says what of a table in memory belongs to whom, and lets somebody else do damage to one piece of it. */
import type { PlannedPiece } from '../../../core/inspection.ts'
import type { NftOperation } from '../../../dataplane/nft/nft.ts'
import { kindOf, nftFamily } from '../../../dataplane/nft/command/script.ts'
import { renderRule } from '../../../dataplane/nft/render-rule.ts'
import { rule } from '../../../dataplane/nft/rule.ts'
import { containersIn } from '../containers.ts'
import { fixedChains } from '../fixed-chains.ts'
import type { NftablesSettings } from '../settings.ts'
import type { RecordingTable } from './recording-table.ts'

const never = new AbortController().signal

export async function unexplainedIn(
  table: RecordingTable,
  pieces: readonly PlannedPiece[],
  settings: NftablesSettings,
): Promise<readonly string[]> {
  const { family } = settings
  const hasRanges = pieces.some(({ where }) => where === 'map ranges' || where === 'map no-endpoint-ranges')
  const hasTrackedExceptions = pieces.some(({ where }) => where === 'set tracked-ips')
  const shape = { hasRanges, hasTrackedExceptions }
  const fixed = fixedChains(settings, shape)
  const explained = new Set([
    ...pieces.map(({ where, text }) => `${where}: ${withoutComment(text)}`),
    ...fixed.flatMap(({ name, rules }) => [
      `table ${nftFamily(family)} fairlead: chain ${name}`,
      ...rules.map((it) => `chain ${name}: ${withoutComment(renderRule(it, family))}`),
    ]),
    ...containersIn(settings, shape).map(({ name }) => `table ${nftFamily(family)} fairlead: set ${name}`),
  ])
  return (await contentsOf(table, settings)).filter((line) => !explained.has(line))
}

async function contentsOf(table: RecordingTable, { family }: NftablesSettings): Promise<readonly string[]> {
  const { chains = [], sets = [] } = (await table.list(never)) ?? {}
  const lines: string[] = []
  for (const name of chains) {
    lines.push(`table ${nftFamily(family)} fairlead: chain ${name}`)
    for (const it of table.rulesOf(name) ?? []) lines.push(`chain ${name}: ${withoutComment(renderRule(it, family))}`)
  }
  for (const name of sets) {
    lines.push(`table ${nftFamily(family)} fairlead: set ${name}`)
    // Those of the node itself.
    if (name === 'service-cidrs' || name === 'node-ips') continue
    const set = table.declarationOf(name)
    for (const [key, { value }] of await table.elements(set, never))
      lines.push(`${kindOf(set)} ${name}: ${value === '' ? key : `${key} : ${value}`}`)
  }
  return lines
}

export async function spoilPiece(table: RecordingTable, { kind, where, text }: PlannedPiece): Promise<boolean> {
  const name = where.replace(/^\S+ /, '')
  switch (kind) {
    case 'element': {
      const key = withoutComment(text).replace(/ : .*/, '')
      await table.damage([{ do: 'delete elements', set: table.declarationOf(name), keys: [key] }])
      return true
    }
    case 'rule':
      await table.damage([{ do: 'flush chain', name }])
      return true
    case 'chain':
      await table.damage([{ do: 'add rule', chain: text.replace('chain ', ''), rule: rule({ kind: 'drop' }) }])
      return true
    case 'set': {
      const set = text.replace('set ', '')
      const users = ((await table.list(never))?.chains ?? []).filter((chain) =>
        table.rulesOf(chain)?.some(({ statements }) => statements.some((it) => 'set' in it && it.set === set)),
      )
      await table.damage([
        ...users.map((chain): NftOperation => ({ do: 'flush chain', name: chain })),
        { do: 'delete set', set: { name: set } },
      ])
      return true
    }
    default:
      throw new Error(`nobody taught the test to spoil a ${kind}`)
  }
}

function withoutComment(text: string): string {
  return text.replace(/ comment "[^"]*"/, '')
}
