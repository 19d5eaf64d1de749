/** Compares all that was written with all that the table holds, and names the first thing that differs. */
import type { FoundElement, NftTable, SetDeclaration, TableListing } from '../../dataplane/nft/nft.ts'
import { renderRule } from '../../dataplane/nft/render-rule.ts'
import { kindOf } from '../../dataplane/nft/command/script.ts'
import { containersIn } from './containers.ts'
import type { ContainerName } from './containers.ts'
import { fixedChains } from './fixed-chains.ts'
import { pickChain } from './pick-chains.ts'
import type { NftablesPlan } from './plan.ts'
import type { PlannedChain } from './planned-chain.ts'
import type { PlannedElement } from './route-plan.ts'
import { shapeOf } from './table-shape.ts'
import { tableComment, wholeTable } from './whole-table.ts'
import type { WholeTable } from './whole-table.ts'

type Door = Pick<NftTable, 'list' | 'elements' | 'rules'>

export async function findTableDrift(
  plan: NftablesPlan,
  table: Door,
  signal: AbortSignal,
): Promise<string | undefined> {
  const listing = await table.list(signal)
  if (listing === undefined) return 'the table is gone'
  const containers = containersIn(plan.settings, shapeOf(plan))
  if (listing.comment !== tableComment(plan.settings)) return 'another table has the name of ours'
  const whole = wholeTable(plan)
  for (const set of containers) {
    const { name } = set
    const found = await table.elements(set, signal)
    const problem = differenceOf(whole.elements.get(name as ContainerName) ?? [], found)
    if (problem !== undefined) return `${kindOf(set)} ${name} ${problem}`
  }
  const chains = plannedChains(plan, whole)
  const stranger = strangerIn(
    listing,
    plan,
    new Set([...chains.map(({ name }) => name), ...setNames(whole, containers)]),
  )
  if (stranger !== undefined) return stranger
  return changedChain(plan, chains, table, signal)
}

function differenceOf(wanted: readonly PlannedElement[], found: ReadonlyMap<string, FoundElement>): string | undefined {
  for (const { key, value } of wanted) {
    const there = found.get(key)
    if (there === undefined) return `lacks ${key}`
    if (there.value !== value) return `has "${there.value}" at ${key}, and not "${value}"`
  }
  if (wanted.length === found.size) return undefined
  const planned = new Set(wanted.map(({ key }) => key))
  for (const key of found.keys()) if (!planned.has(key)) return `has ${key}, which is not ours`
  return undefined
}

function plannedChains(plan: NftablesPlan, { own }: WholeTable): readonly PlannedChain[] {
  const { settings, pickChainsByName } = plan
  return [
    ...fixedChains(settings, shapeOf(plan)),
    ...pickChainsByName.values().map(({ chain }) => pickChain(chain, settings)),
    ...own.flatMap(({ chains }) => chains),
  ]
}

function setNames({ own }: WholeTable, containers: readonly SetDeclaration[]): readonly string[] {
  return [...containers.map(({ name }) => name), ...own.flatMap(({ sets }) => sets.map(({ name }) => name))]
}

function strangerIn(
  { chains, sets }: TableListing,
  { unusedChains }: NftablesPlan,
  own: ReadonlySet<string>,
): string | undefined {
  const stranger = [...chains, ...sets].find((name) => !own.has(name) && !unusedChains.includes(name))
  const there = new Set([...chains, ...sets])
  const lost = [...own].find((name) => !there.has(name))
  if (lost !== undefined) return `${lost} is missing`
  return stranger && `${stranger} is not ours`
}

async function changedChain(
  { settings }: NftablesPlan,
  chains: readonly PlannedChain[],
  table: Door,
  signal: AbortSignal,
): Promise<string | undefined> {
  const names = chains.map(({ name }) => name)
  const found = await table.rules(names, signal)
  const changed = chains.find(({ name, rules }) => {
    const wanted = rules.map((rule) => comparable(renderRule(rule, settings.family)))
    const there = found.get(name)?.map(comparable) ?? []
    return wanted.length !== there.length || wanted.some((rule, index) => rule !== there[index])
  })
  return changed && `chain ${changed.name} was changed`
}

/** nft prints a zero with all its digits. */
function comparable(rule: string): string {
  return rule.replaceAll(/\b0x0+\b/g, '0')
}
