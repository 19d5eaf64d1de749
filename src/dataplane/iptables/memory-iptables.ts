/** An iptables in memory, for tests without a kernel. It keeps the text that iptables-save would print. */
import type { Family } from '../../net/ip.ts'
import { familyOf, parseCidr, parseIp } from '../../net/ip.ts'
import { canonicalRule } from './canonical-rule.ts'
import type { ChainPath, CountedRule, Iptables, IptablesFeatures, RestoreText, Table } from './iptables.ts'
import { IptablesError } from './iptables.ts'
import { MemoryTable, Refusal } from './memory-table.ts'
import { refuseControlCharacter, refuseControlCharacters } from './refuse-control-characters.ts'
import type { RestoreCommand } from './restore-text.ts'
import { restoreLines } from './restore-text.ts'
import { quoted, ruleWords } from './rule-quoting.ts'

export interface MemoryIptablesOptions {
  readonly family: Family
  /** Matches that this kernel lacks, like `recent`: rules with them are refused. */
  readonly missingMatches?: ReadonlySet<string>
}

export class MemoryIptables implements Iptables {
  readonly family: Family
  /** Which counters were read; undefined for all. */
  readonly counterReadings: (readonly ChainPath[] | undefined)[] = []
  readonly #missingMatches: ReadonlySet<string>
  #tables: Readonly<Record<Table, MemoryTable>> = {
    filter: new MemoryTable('filter'),
    nat: new MemoryTable('nat'),
    mangle: new MemoryTable('mangle'),
  }

  constructor(options: MemoryIptablesOptions) {
    this.family = options.family
    this.#missingMatches = options.missingMatches ?? new Set()
  }

  async features(): Promise<IptablesFeatures> {
    return { version: '1.8.9', variant: 'nf_tables', hasRandomFully: true }
  }

  async isSupported(): Promise<boolean> {
    return true
  }

  async hasMatch(match: string): Promise<boolean> {
    return knownMatches.has(match) && !this.#missingMatches.has(match)
  }

  async restore(input: RestoreText, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    refuseControlCharacters(input)
    let table: MemoryTable | undefined
    for (const { line, text, command } of restoreLines(typeof input === 'string' ? input : input.join(''))) {
      try {
        if (command.kind === 'begin') table = this.#table(command.table).copy()
        else if (table === undefined) throw new Refusal('it is outside of a table')
        else if (command.kind === 'commit') {
          table.check()
          this.#tables = { ...this.#tables, [table.name]: table }
          table = undefined
        } else this.#apply(table, command)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const options = command.kind === 'commit' ? {} : { line }
        throw new IptablesError(
          'refused',
          `iptables-restore refused line ${line}, "${text}": ${error.message}`,
          options,
        )
      }
    }
    if (table !== undefined) throw new IptablesError('refused', 'iptables-restore refused the rules: COMMIT expected')
  }

  async save(table: Table, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted()
    return this.#tables[table].save()
  }

  async saveAll(signal: AbortSignal): Promise<string> {
    const tables = await Promise.all((['mangle', 'filter', 'nat'] as const).map((table) => this.save(table, signal)))
    return tables.join('')
  }

  async readAll(onPiece: (piece: Buffer) => void, signal: AbortSignal): Promise<void> {
    onPiece(Buffer.from(await this.saveAll(signal)))
  }

  /** Packets come by the rule. */
  count(table: Table, chain: string, isMeant: (rule: string) => boolean, packets: number): void {
    if (!this.#tables[table].count(chain, isMeant, packets))
      throw new Error(`there is no such rule in ${table}/${chain}`)
  }

  async readCounters(
    onRule: (rule: CountedRule) => void,
    signal: AbortSignal,
    chains?: readonly ChainPath[],
  ): Promise<void> {
    signal.throwIfAborted()
    this.counterReadings.push(chains)
    for (const table of ['mangle', 'filter', 'nat'] as const)
      for (const rule of this.#tables[table].countedRules())
        if (chains === undefined || chains.includes(`${table}/${rule.chain}`)) onRule(rule)
  }

  async ensureChain(table: Table, chain: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    refuseControlCharacter(chain)
    if (this.#tables[table].hasChain(chain)) return false
    this.#change(table, `add chain ${chain}`, (copy) => copy.addChain(chain))
    return true
  }

  async ensureRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    rule.forEach(refuseControlCharacter)
    const text = this.#rule(rule.map(quoted).join(' '))
    if (this.#tables[table].hasRule(chain, text)) return false
    this.#change(table, `insert the rule "${text}" into chain ${chain}`, (copy) => copy.insertRule(chain, text))
    return true
  }

  async deleteRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const text = this.#rule(rule.map(quoted).join(' '))
    if (!this.#tables[table].hasRule(chain, text)) return false
    this.#change(table, `delete the rule "${text}" from chain ${chain}`, (copy) => copy.deleteRule(chain, text))
    return true
  }

  async chainExists(table: Table, chain: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    return this.#tables[table].hasChain(chain)
  }

  async chainRules(table: Table, chain: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    signal.throwIfAborted()
    return this.#tables[table].rulesOf(chain)
  }

  async deleteChain(table: Table, chain: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#change(table, `delete chain ${chain}`, (copy) => copy.deleteChain(chain))
  }

  #apply(table: MemoryTable, command: Exclude<RestoreCommand, { kind: 'begin' | 'commit' }>): void {
    switch (command.kind) {
      case 'declare':
        return table.declareChain(command.chain)
      case 'new':
        return table.addChain(command.chain)
      case 'flush':
        return table.flushChain(command.chain)
      case 'delete-chain':
        return table.deleteChain(command.chain)
      case 'append':
        return table.appendRule(command.chain, this.#rule(command.rule), command.packets)
      case 'insert':
        return table.insertRule(command.chain, this.#rule(command.rule), command.packets)
      case 'delete-rule':
        return table.deleteRule(command.chain, this.#rule(command.rule))
      default:
        return command satisfies never
    }
  }

  /** The rule in canonical form. Throws a Refusal for rules that the tools refuse. */
  #rule(text: string): string {
    const words = ruleWords(text)
    for (const [index, word] of words.entries()) {
      const value = words[index + 1] ?? ''
      if ((word === '-s' || word === '-d') && !isAddress(value, this.family))
        throw new Refusal(`host/network "${value}" not found`)
      if (word === '--dport' && !isPort(value)) throw new Refusal(`invalid port/service "${value}" specified`)
      // The nft variant refuses it, legacy accepts it.
      if (word === '!' && words[index + 2]?.endsWith('/0') === true) throw new Refusal('it can never match')
      if (word === '-m' && this.#missingMatches.has(value)) throw new Refusal(`Couldn't load match "${value}"`)
    }
    return canonicalRule(text, this.family)
  }

  #change(name: Table, what: string, change: (copy: MemoryTable) => void): void {
    const copy = this.#tables[name].copy()
    try {
      change(copy)
      copy.check()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      throw new IptablesError(error.reason, `iptables could not ${what} in table ${name}: ${error.message}`)
    }
    this.#tables = { ...this.#tables, [name]: copy }
  }

  #table(name: string): MemoryTable {
    if (name === 'filter' || name === 'nat' || name === 'mangle') return this.#tables[name]
    throw new Refusal(`there is no table "${name}"`)
  }
}

/** Those that Fairlead writes, in any mode. */
const knownMatches: ReadonlySet<string> = new Set(
  'addrtype bpf comment conntrack ipvs mark nfacct physdev recent sctp set socket state statistic tcp udp'.split(' '),
)

function isAddress(text: string, family: Family): boolean {
  const ip = parseIp(text)
  if (ip !== undefined) return familyOf(ip) === family
  return parseCidr(text)?.family === family
}

/** Or a range of them. */
function isPort(text: string): boolean {
  const ports = text.split(':')
  return ports.length <= 2 && ports.every((port) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535)
}
