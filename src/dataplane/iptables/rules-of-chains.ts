/** Reads some chains and no others, by whichever way costs less. */
import type { ChainPath, Iptables, Table, Variant } from './iptables.ts'
import { SaveReader } from './save-reader.ts'

/** Chains that are read one by one, rather than all tables at once. The legacy tool reads a whole table for any of them. */
const mostSingleReads: Readonly<Record<Variant, number>> = { nf_tables: 40, legacy: 2 }
/** Most of the time that a small tool takes goes into its start. */
const readsAtOnce = 4

/** A chain that does not exist is left out. */
export async function rulesOfChains(
  iptables: Iptables,
  wanted: ReadonlySet<ChainPath>,
  signal: AbortSignal,
): Promise<ReadonlyMap<ChainPath, readonly string[]>> {
  const { variant } = await iptables.features(signal)
  const read = wanted.size > mostSingleReads[variant] ? readAmongAll : readEach
  return read(iptables, wanted, signal)
}

async function readEach(iptables: Iptables, wanted: ReadonlySet<ChainPath>, signal: AbortSignal) {
  const found = new Map<ChainPath, readonly string[]>()
  const left = [...wanted]
  const readOn = async (): Promise<void> => {
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      const [table, chain] = path.split('/') as [Table, string]
      const rules = await iptables.chainRules(table, chain, signal)
      if (rules !== undefined) found.set(path, rules)
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, readOn))
  return found
}

async function readAmongAll(iptables: Iptables, wanted: ReadonlySet<ChainPath>, signal: AbortSignal) {
  const reader = new SaveReader({
    isSummaryEnough: (table, chain) => !wanted.has(`${table}/${chain}` as ChainPath),
  })
  await iptables.readAll((piece) => reader.add(piece), signal)
  const { rules } = reader.end()
  const found = new Map<ChainPath, readonly string[]>()
  for (const path of wanted) {
    const [table = '', chain = ''] = path.split('/')
    const ofChain = rules.get(table)?.get(chain)
    if (ofChain !== undefined) found.set(path, ofChain)
  }
  return found
}
