/** The table, through the nft command. */
import type { Family } from '../../../net/ip.ts'
import type { Exec, ExecOptions, ExecResult } from '../../exec/exec.ts'
import { parseElements } from './element-json.ts'
import { parseRules, parseTableListing } from './listing-text.ts'
import { tableName } from '../nft.ts'
import type { ForeignChange, FoundElement, NftTable, NftTransaction, SetDeclaration, TableListing } from '../nft.ts'
import { kindOf, nftFamily, renderScript } from './script.ts'
import { startError, toolError } from './tool-error.ts'

export interface CommandNftOptions {
  readonly family: Family
  readonly exec: Exec
  /** Whether tables, chains and sets can have comments. */
  readonly hasObjectComments: boolean
  /** Called with the process id of each nft that may change the table. */
  readonly onCommitStart?: (processId: number) => void
}

/** A map of 250,000 elements is 50 MB of JSON. */
const maxStdoutBytes = 400 << 20
/** From so many on, one listing of all chains costs less than a process for each. */
const manyChains = 8

export class CommandNftTable implements NftTable {
  readonly #exec: Exec
  readonly #family: Family
  readonly #hasObjectComments: boolean
  readonly #onCommitStart: (processId: number) => void
  readonly #table: string

  constructor({ family, exec, hasObjectComments, onCommitStart }: CommandNftOptions) {
    this.#exec = exec
    this.#family = family
    this.#hasObjectComments = hasObjectComments
    this.#onCommitStart = onCommitStart ?? (() => {})
    this.#table = `${nftFamily(family)} ${tableName}`
  }

  async commit(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    await this.#feed(['-f', '-'], 'change', transaction, { signal, onStart: this.#onCommitStart })
  }

  async check(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    await this.#feed(['--check', '-f', '-'], 'check a change of', transaction, { signal })
  }

  async list(signal: AbortSignal): Promise<TableListing | undefined> {
    const args = ['--terse', 'list', 'table', ...this.#table.split(' ')]
    const printed = await this.#read(args, `list the table ${this.#table}`, signal)
    return printed === undefined ? undefined : parseTableListing(printed)
  }

  async elements(set: SetDeclaration, signal: AbortSignal): Promise<ReadonlyMap<string, FoundElement>> {
    const args = ['--json', 'list', kindOf(set), ...this.#table.split(' '), set.name]
    const printed = await this.#read(args, `list the elements of ${set.name} in table ${this.#table}`, signal)
    return printed === undefined ? new Map() : parseElements(set, printed)
  }

  async rules(chains: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
    if (chains.length > manyChains) return this.#rulesOf(['table', ...this.#table.split(' ')], new Set(chains), signal)
    const found = new Map<string, readonly string[]>()
    // One by one: nft finds none of several, if one does not exist.
    for (const chain of chains) {
      const words = ['chain', ...this.#table.split(' '), chain]
      for (const [name, rules] of await this.#rulesOf(words, new Set([chain]), signal)) found.set(name, rules)
    }
    return found
  }

  /** The command tells nobody who changed what. */
  async foreignChange(): Promise<ForeignChange> {
    return { kind: 'unknown' }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #rulesOf(
    what: readonly string[],
    wanted: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const args = ['--terse', 'list', ...what]
    const printed = await this.#read(args, `list the ${what.join(' ')}`, signal)
    return printed === undefined ? new Map() : parseRules(printed, wanted)
  }

  async #feed(args: readonly string[], verb: string, transaction: NftTransaction, options: ExecOptions): Promise<void> {
    const script = renderScript(this.#family, transaction, { hasObjectComments: this.#hasObjectComments })
    const doing = `${verb} the table ${this.#table}`
    const result = await this.#run(args, doing, { ...options, stdin: script })
    if (result.exitCode !== 0) throw toolError(doing, result, script)
  }

  async #read(args: readonly string[], doing: string, signal: AbortSignal): Promise<string | undefined> {
    const result = await this.#run(args, doing, { signal, maxStdoutBytes })
    if (result.exitCode === 0) return result.stdout
    const error = toolError(doing, result)
    if (error.reason === 'missing') return undefined
    throw error
  }

  async #run(args: readonly string[], doing: string, options: ExecOptions): Promise<ExecResult> {
    try {
      return await this.#exec('nft', args, options)
    } catch (error) {
      throw startError(doing, error)
    }
  }
}
