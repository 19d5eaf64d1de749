/** Runs `netsh`. It has one exit code for every failure and explains it in the language of the machine, so we look what is there. */
import type { Clock } from '../../core/clock.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { AtMost } from './at-most.ts'
import { canBind } from './can-bind.ts'
import { addAddress, deleteAddress, showAddresses } from './command-lines.ts'
import { mayNotChange, NetshError, noSuchInterface } from './netsh.ts'
import type { Netsh, NetshReason } from './netsh.ts'
import { parseAddresses } from './parse-addresses.ts'
import { SharedAnswer } from './shared-answer.ts'

export interface CommandNetshOptions {
  readonly exec: Exec
  readonly interfaceName: string
  readonly clock: Clock
  /** Whether a socket can have the address now. */
  readonly canUse?: (ip: string) => Promise<boolean>
}

/** One run takes a tenth of a second; a machine that starts may be slower. */
const runTimeoutMs = 10_000
/** Windows needs up to three seconds until an address is usable. */
const usableTimeoutMs = 30_000
const lookEveryMs = 500
/** Before the next attempt: while HNS restarts, its interface is away for a moment. */
const pausesMs = [500, 1_000]
/** Each is a process. Hundreds of addresses may come at once. */
const maxRuns = 4
/** Thousands of addresses, each with five lines; whatever else it does takes a few words. */
const maxStdoutBytes = { listing: 8 << 20, others: 64 << 10 }
/** Of what it complains about. */
const maxComplaint = 300

export class CommandNetsh implements Netsh {
  readonly interfaceName: string
  readonly #options: Required<CommandNetshOptions>
  readonly #runs = new AtMost(maxRuns)
  /** Each listing has all addresses: whoever waits for one of hundreds needs none of their own. */
  readonly #listings: Readonly<Record<Family, SharedAnswer<readonly string[]>>>

  constructor(options: CommandNetshOptions) {
    this.interfaceName = options.interfaceName
    this.#options = { canUse: canBind, ...options }
    const listingOf = (family: Family) => new SharedAnswer((isPut, signal) => this.#runListing(family, isPut, signal))
    this.#listings = { ipv4: listingOf('ipv4'), ipv6: listingOf('ipv6') }
  }

  list(family: Family, signal: AbortSignal): Promise<readonly string[]> {
    return this.#persistently(() => this.#listOnce(family, signal), signal)
  }

  add(ip: string, signal: AbortSignal): Promise<'added' | 'was-there'> {
    // A run that was killed may have added it.
    let mayBeOurs = false
    return this.#persistently(async () => {
      const done = await this.#run(addAddress(this.interfaceName, ip), signal).catch((error: unknown) => {
        mayBeOurs ||= error instanceof NetshError && error.reason === 'timed-out'
        throw error
      })
      const isThere = done.exitCode !== 0 && (await this.#isThere(ip, done, signal))
      if (done.exitCode !== 0 && !isThere) throw this.#refused(`add ${ip} to`, done)
      if (isThere === 'elsewhere') return 'was-there'
      await this.#untilUsable(ip, signal)
      return isThere === false || mayBeOurs ? 'added' : 'was-there'
    }, signal)
  }

  remove(ip: string, signal: AbortSignal): Promise<void> {
    return this.#persistently(async () => {
      const done = await this.#run(deleteAddress(this.interfaceName, ip), signal)
      if (done.exitCode === 0) return
      this.#throwIfNotPermitted(done)
      const left = await this.#listOnce(familyOf(ip), signal)
      if (left.includes(ip)) throw this.#refused(`remove ${ip} from`, done)
    }, signal)
  }

  #listOnce(family: Family, signal: AbortSignal): Promise<readonly string[]> {
    return this.#listings[family].ask(signal)
  }

  async #runListing(family: Family, onStart: () => void, signal: AbortSignal): Promise<readonly string[]> {
    const isLong = { maxStdoutBytes: maxStdoutBytes.listing, onStart }
    const shown = await this.#run(showAddresses(this.interfaceName, family), signal, isLong)
    if (shown.exitCode !== 0) throw noSuchInterface(this.interfaceName, { cause: new Error(complaintOf(shown)) })
    return parseAddresses(shown.stdout, family)
  }

  /** Where the address is that could not be added. */
  async #isThere(ip: string, failed: ExecResult, signal: AbortSignal): Promise<'here' | 'elsewhere' | false> {
    this.#throwIfNotPermitted(failed)
    if ((await this.#listOnce(familyOf(ip), signal)).includes(ip)) return 'here'
    return (await this.#options.canUse(ip)) && 'elsewhere'
  }

  async #untilUsable(ip: string, signal: AbortSignal): Promise<void> {
    const { clock, canUse } = this.#options
    const givesUpAt = clock.monotonic() + usableTimeoutMs
    const isListed = () => this.#listOnce(familyOf(ip), signal).then((ips) => ips.includes(ip), isTransient)
    while (!(await canUse(ip)) || !(await isListed())) {
      if (clock.monotonic() >= givesUpAt) throw this.#notUsable(ip)
      await clock.sleep(lookEveryMs, signal)
    }
  }

  /** Tries again what may pass. */
  async #persistently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (const pauseMs of pausesMs)
      try {
        return await work()
      } catch (error) {
        isTransient(error)
        await this.#options.clock.sleep(pauseMs, signal)
      }
    return work()
  }

  async #run(
    args: readonly string[],
    signal: AbortSignal,
    { maxStdoutBytes: most = maxStdoutBytes.others, onStart = () => {} } = {},
  ): Promise<ExecResult> {
    try {
      return await this.#runs.run(() => {
        signal.throwIfAborted()
        onStart()
        return this.#options.exec('netsh', args, { signal, timeoutMs: runTimeoutMs, maxStdoutBytes: most })
      })
    } catch (error) {
      if (!(error instanceof ExecError)) throw error
      const reason = reasonsOfExec[error.reason]
      throw new NetshError(reason, `cannot change the addresses of "${this.interfaceName}": ${error.message}`, {
        cause: error,
      })
    }
  }

  #throwIfNotPermitted(failed: ExecResult): void {
    const complaint = complaintOf(failed)
    if (!asksForAdministrator.test(complaint)) return
    throw mayNotChange(this.interfaceName, { cause: new Error(complaint), exitCode: failed.exitCode })
  }

  #refused(doing: string, failed: ExecResult): NetshError {
    const said = complaintOf(failed) || `exit code ${failed.exitCode}`
    const message = `netsh did not ${doing} the interface "${this.interfaceName}": ${said}`
    return new NetshError('refused', message, { exitCode: failed.exitCode })
  }

  #notUsable(ip: string): NetshError {
    const seconds = usableTimeoutMs / 1000
    return new NetshError(
      'not-usable',
      `${ip} was added to the interface "${this.interfaceName}", but could not be used for ${seconds} s: ` +
        'see whether another machine has this address, and whether the interface is up',
    )
  }
}

/** "The requested operation requires elevation (Run as administrator)", in most languages. */
const asksForAdministrator = /\badmin|amminist|админ|管理|관리자|elevation/i

const reasonsOfExec = {
  'not-found': 'tool-missing',
  'not-permitted': 'not-permitted',
  timeout: 'timed-out',
  'too-much-output': 'refused',
  'cannot-start': 'refused',
} as const satisfies Record<ExecError['reason'], NetshReason>

/** It complains on its standard output. */
function complaintOf({ stdout, stderr }: ExecResult): string {
  const said = `${stdout.slice(0, maxComplaint)} ${stderr.slice(0, maxComplaint)}`
  return said.replace(/\s+/g, ' ').trim()
}

/** Throws what will not pass by itself. */
function isTransient(error: unknown): false {
  const lasting: readonly NetshReason[] = ['tool-missing', 'not-permitted', 'not-usable']
  if (!(error instanceof NetshError) || lasting.includes(error.reason)) throw error
  return false
}
