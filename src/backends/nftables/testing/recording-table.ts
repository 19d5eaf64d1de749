/** A table in memory that remembers what was sent to it, and can be asked to refuse. */
import { MemoryNftTable } from '../../../dataplane/nft/memory/memory-nft.ts'
import { NftError } from '../../../dataplane/nft/nft.ts'
import type {
  ChainHook,
  ForeignChange,
  NftOperation,
  NftTransaction,
  SetDeclaration,
} from '../../../dataplane/nft/nft.ts'
import { renderRule } from '../../../dataplane/nft/render-rule.ts'
import { parseRule } from './kernel-rule.ts'
import type { KernelRule } from './kernel-rule.ts'
import { exactSet, intervalSet, ruleset } from './ruleset.ts'
import type { KernelSet, Ruleset } from './ruleset.ts'
import { tableSummary } from './table-summary.ts'

const never = new AbortController().signal

export class RecordingTable extends MemoryNftTable {
  /** Those that happened, the last one last. */
  readonly transactions: NftTransaction[] = []
  /** How often somebody listed the table or the elements of a set. */
  reads = 0
  areElementsUnreadable = false
  /** What to refuse, whether it is tried or only checked. */
  refuses: (transaction: NftTransaction) => NftError | undefined = () => undefined
  readonly #hooks = new Map<string, ChainHook>()
  readonly #declarations = new Map<string, SetDeclaration>()

  override async commit(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    this.#refuse(transaction)
    await super.commit(transaction, signal)
    this.#remember(transaction)
    this.transactions.push(transaction)
  }

  override async check(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    this.#refuse(transaction)
    await super.check(transaction, signal)
  }

  override async list(signal: AbortSignal) {
    this.reads++
    return super.list(signal)
  }

  override async elements(set: SetDeclaration, signal: AbortSignal) {
    this.reads++
    if (this.areElementsUnreadable) throw new NftError('failed', 'the elements cannot be read')
    return super.elements(set, signal)
  }

  /** What somebody else does. */
  async damage(transaction: NftTransaction, change?: ForeignChange): Promise<void> {
    this.commitAsSomebodyElse(transaction, change)
    this.#remember(transaction)
  }

  /** As it was declared last. */
  declarationOf(name: string): SetDeclaration {
    const set = this.#declarations.get(name)
    if (set === undefined) throw new Error(`nobody declared the set ${name}`)
    return set
  }

  /** The operations since the last call. */
  takeOperations(): readonly NftOperation[] {
    return this.transactions.splice(0).flat()
  }

  /** All chains with their rules and all sets with their elements, in no order that depends on history. */
  async contents(): Promise<readonly string[]> {
    const { chains = [], sets = [] } = (await super.list(never)) ?? {}
    return [
      ...(await this.summary()),
      ...chains.map((name) => `chain ${name}: ${JSON.stringify([this.#hooks.get(name), this.rulesOf(name)])}`).sort(),
      ...sets.map((name) => `set ${name}: ${this.declarationOf(name).timeoutSeconds} s`).sort(),
    ]
  }

  summary(): Promise<readonly string[]> {
    const inMemory = {
      list: (signal: AbortSignal) => super.list(signal),
      elements: (set: SetDeclaration, signal: AbortSignal) => super.elements(set, signal),
    }
    return tableSummary(inMemory, (name) => this.declarationOf(name))
  }

  async ruleset(): Promise<Ruleset> {
    const { chains = [], sets = [] } = (await super.list(never)) ?? {}
    const family = sets.some((name) => this.declarationOf(name).key.includes('ipv6_addr')) ? 'ipv6' : 'ipv4'
    const rulesOf = (name: string): readonly KernelRule[] =>
      (this.rulesOf(name) ?? []).map((rule) => parseRule(renderRule(rule, family)))
    const found = new Map<string, KernelSet>()
    for (const name of sets) {
      const set = this.declarationOf(name)
      const elements = await super.elements(set, never)
      const values = [...elements].map(([key, { value }]) => [key, value] as const)
      found.set(name, set.isInterval === true ? intervalSet(values) : exactSet(values))
    }
    return ruleset(new Map(chains.map((name) => [name, { hook: this.#hooks.get(name), rules: rulesOf(name) }])), found)
  }

  #refuse(transaction: NftTransaction): void {
    const refusal = this.refuses(transaction)
    if (refusal !== undefined) throw refusal
  }

  #remember(transaction: NftTransaction): void {
    for (const operation of transaction)
      if (operation.do === 'add set') this.#declarations.set(operation.set.name, operation.set)
      else if (operation.do === 'delete chain') this.#hooks.delete(operation.name)
      else if (operation.do === 'delete table') this.#hooks.clear()
      else if (operation.do === 'add chain' && operation.chain.hook !== undefined)
        this.#hooks.set(operation.chain.name, operation.chain.hook)
  }
}
