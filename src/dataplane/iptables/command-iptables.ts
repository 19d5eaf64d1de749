/** Runs the iptables tools of this host, one command at a time. */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Family } from '../../net/ip.ts'
import type { Exec, ExecOptions, ExecResult } from '../exec/exec.ts'
import { ExecError } from '../exec/exec.ts'
import { CounterReader, countedRulesOfListing } from './counter-reader.ts'
import type { ChainPath, CountedRule, Iptables, IptablesFeatures, RestoreText, Table } from './iptables.ts'
import { IptablesError } from './iptables.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import { refuseControlCharacter, refuseControlCharacters } from './refuse-control-characters.ts'
import { commandError, restoreError } from './tool-error.ts'
import { rulesOfListing } from './save-text.ts'
import { featuresFromVersion } from './tool-version.ts'

/** The three programs of one variant and family: `iptables-nft`, `iptables-nft-save`, `iptables-nft-restore`. */
export interface ToolNames {
  readonly single: string
  readonly save: string
  readonly restore: string
}

export interface CommandIptablesOptions {
  readonly family: Family
  readonly tools: ToolNames
  readonly exec: Exec
  readonly clock: Clock
  readonly log: Logger
}

/** Wait for the xtables lock for up to five seconds. The nft variant takes no lock and ignores it. */
const wait = ['-w', '5']
const slowMs = 2000
const singleTimeoutMs = 5 * 60_000
/** The nat table of 10,000 services with ten endpoints each is about 50 MB of text. */
const maxSaveBytes = 400 << 20
/** We read error texts, so they must not be translated. */
const env = { LC_ALL: 'C' }

export class CommandIptables implements Iptables {
  readonly family: Family
  readonly #tools: ToolNames
  readonly #exec: Exec
  readonly #clock: Clock
  readonly #log: Logger
  readonly #queue = new OneAtATime()
  #features: IptablesFeatures | undefined

  constructor(options: CommandIptablesOptions) {
    this.family = options.family
    this.#tools = options.tools
    this.#exec = options.exec
    this.#clock = options.clock
    this.#log = options.log
  }

  async features(signal: AbortSignal): Promise<IptablesFeatures> {
    return this.#features ?? this.#queue.run(() => this.#probe(signal))
  }

  async isSupported(signal: AbortSignal): Promise<boolean> {
    try {
      await this.features(signal)
    } catch (error) {
      if (error instanceof IptablesError && error.reason === 'tool-missing') return false
      throw error
    }
    const result = await this.#inTurn(signal, () => this.#single(['-S', 'POSTROUTING', '-t', 'nat'], signal))
    if (result.exitCode === 0) return true
    const error = commandError(this.#tools.single, 'list table nat', result)
    if (error.reason === 'not-permitted' || error.reason === 'locked') throw error
    return false
  }

  /** The help of a match is printed by its extension, which asks the kernel; no table is read. */
  hasMatch(match: string, signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(signal, async () => {
      const result = await this.#single(['-m', match, '--help'], signal)
      // Since 1.8.8 a match that the kernel lacks is no failure, but a warning.
      if (result.exitCode === 0) return !/missing kernel module/.test(result.stderr)
      if (/load match/.test(result.stderr)) return false
      throw commandError(this.#tools.single, `ask for the match ${match}`, result)
    })
  }

  restore(input: RestoreText, signal: AbortSignal): Promise<void> {
    const program = this.#tools.restore
    return this.#inTurn(signal, async () => {
      refuseControlCharacters(input)
      const result = await this.#run(program, [...wait, '--noflush', '--counters'], { signal, stdin: input })
      if (result.exitCode !== 0) throw restoreError(program, textOf(input), result)
    })
  }

  save(table: Table, signal: AbortSignal): Promise<string> {
    return this.#save(['-t', table], `save table ${table}`, signal)
  }

  saveAll(signal: AbortSignal): Promise<string> {
    return this.#save([], 'save all tables', signal)
  }

  async readAll(onPiece: (piece: Buffer) => void, signal: AbortSignal): Promise<void> {
    await this.#save([], 'save all tables', signal, onPiece)
  }

  async readCounters(
    onRule: (rule: CountedRule) => void,
    signal: AbortSignal,
    chains?: readonly ChainPath[],
  ): Promise<void> {
    if (chains === undefined) {
      const reader = new CounterReader(onRule)
      await this.#save(['--counters'], 'save all tables', signal, (piece) => reader.add(piece))
      return
    }
    await this.features(signal)
    for (const path of chains) {
      const [table = 'nat', chain = ''] = path.split('/') as [Table?, string?]
      const result = await this.#single(['-v', '-S', chain, '-t', table], signal)
      if (!this.#oneMeansNo(result, `list chain ${chain} of table ${table}`)) continue
      for (const rule of countedRulesOfListing(result.stdout, table)) onRule(rule)
    }
  }

  ensureChain(table: Table, chain: string, signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(signal, async () => {
      const result = await this.#single(['-N', chain, '-t', table], signal)
      return this.#oneMeansNo(result, `add chain ${chain} to table ${table}`)
    })
  }

  ensureRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(signal, async () => {
      if (await this.#hasRule(table, chain, rule, signal)) return false
      const what = `insert the rule "${rule.join(' ')}" into chain ${chain} of table ${table}`
      this.#mustSucceed(await this.#single(['-I', chain, '-t', table, ...rule], signal), what)
      return true
    })
  }

  deleteRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(signal, async () => {
      try {
        if (!(await this.#hasRule(table, chain, rule, signal))) return false
      } catch (error) {
        // The chain that the rule jumps to does not exist, so the rule cannot.
        if (error instanceof IptablesError && error.reason === 'not-found') return false
        throw error
      }
      const what = `delete the rule "${rule.join(' ')}" from chain ${chain} of table ${table}`
      this.#mustSucceed(await this.#single(['-D', chain, '-t', table, ...rule], signal), what)
      return true
    })
  }

  chainExists(table: Table, chain: string, signal: AbortSignal): Promise<boolean> {
    return this.#inTurn(signal, async () => {
      const result = await this.#single(['-S', chain, '-t', table], signal)
      // Only exit code 1 means "no": 4 means that the lock was taken, and says nothing about the chain.
      return this.#oneMeansNo(result, `look for chain ${chain} in table ${table}`)
    })
  }

  /** Not in turn, for the same reason as `#save`. */
  async chainRules(table: Table, chain: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    await this.features(signal)
    const result = await this.#single(['-S', chain, '-t', table], signal)
    const isThere = this.#oneMeansNo(result, `list chain ${chain} of table ${table}`)
    return isThere ? rulesOfListing(result.stdout, chain) : undefined
  }

  deleteChain(table: Table, chain: string, signal: AbortSignal): Promise<void> {
    return this.#inTurn(signal, async () => {
      const result = await this.#single(['-X', chain, '-t', table], signal)
      this.#mustSucceed(result, `delete chain ${chain} from table ${table}`)
    })
  }

  /** Not in turn: it takes no lock, and may take seconds, during which a change must not wait. */
  async #save(
    args: readonly string[],
    what: string,
    signal: AbortSignal,
    onStdout?: (piece: Buffer) => void,
  ): Promise<string> {
    await this.features(signal)
    const program = this.#tools.save
    const options: ExecOptions = { signal, maxStdoutBytes: maxSaveBytes }
    const result = await this.#run(program, args, onStdout === undefined ? options : { ...options, onStdout })
    if (result.exitCode !== 0) throw commandError(program, what, result)
    return result.stdout
  }

  async #hasRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean> {
    const result = await this.#single(['-C', chain, '-t', table, ...rule], signal)
    return this.#oneMeansNo(result, `look for the rule "${rule.join(' ')}" in chain ${chain} of table ${table}`)
  }

  #oneMeansNo(result: ExecResult, what: string): boolean {
    if (result.exitCode === 1) return false
    this.#mustSucceed(result, what)
    return true
  }

  #mustSucceed(result: ExecResult, what: string): void {
    if (result.exitCode !== 0) throw commandError(this.#tools.single, what, result)
  }

  async #single(args: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    args.forEach(refuseControlCharacter)
    // -S prints a whole chain, and KUBE-SERVICES has a line per service.
    const options = { signal, timeoutMs: singleTimeoutMs, maxStdoutBytes: maxSaveBytes }
    return this.#run(this.#tools.single, [...wait, ...args], options)
  }

  /** Commands of a family run one after the other. The first one checks that the tools are new enough. */
  #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      await this.#probe(signal)
      return work()
    })
  }

  async #probe(signal: AbortSignal): Promise<IptablesFeatures> {
    if (this.#features !== undefined) return this.#features
    const program = this.#tools.single
    const result = await this.#run(program, ['--version'], { signal, timeoutMs: singleTimeoutMs })
    this.#features = featuresFromVersion(program, result.stdout + result.stderr)
    return this.#features
  }

  async #run(program: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const startedMs = this.#clock.monotonic()
    try {
      return await this.#exec(program, args, { ...options, env })
    } catch (error) {
      throw error instanceof ExecError ? iptablesErrorFrom(error) : error
    } finally {
      const durationMs = Math.round(this.#clock.monotonic() - startedMs)
      if (durationMs > slowMs)
        this.#log.info('iptables was slow', {
          command: [program, ...args].join(' '),
          durationMs,
          inputBytes: [options.stdin ?? []].flat().reduce((sum, { length }) => sum + length, 0),
        })
    }
  }
}

function textOf(input: RestoreText): string {
  return typeof input === 'string' ? input : input.join('')
}

function iptablesErrorFrom(cause: ExecError): IptablesError {
  switch (cause.reason) {
    case 'not-found':
      return new IptablesError('tool-missing', `${cause.message}: Debian and Alpine call the package "iptables"`, {
        cause,
      })
    case 'not-permitted':
      return new IptablesError('not-permitted', cause.message, { cause })
    case 'timeout':
      return new IptablesError('timeout', cause.message, { cause })
    case 'too-much-output':
    case 'cannot-start':
      return new IptablesError('cannot-run', cause.message, { cause })
    default:
      return cause.reason satisfies never
  }
}
