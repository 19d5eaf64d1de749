/**
 * The kernel's named counters. iptables rules with `-m nfacct` count packets in them. Every method rejects with an
 * NfacctError.
 */
export interface Nfacct {
  read(name: string, signal: AbortSignal): Promise<NfacctCounter | undefined>
  /** A counter that exists keeps its count. */
  ensure(name: string, signal: AbortSignal): Promise<void>
  /** Does nothing if there is no such counter. One that a rule names is refused with `in-use`. */
  remove(name: string, signal: AbortSignal): Promise<void>
}

export interface NfacctCounter {
  readonly packets: number
  readonly bytes: number
}

export class NfacctError extends Error {
  override readonly name = 'NfacctError'
  readonly reason: 'not-permitted' | 'unsupported' | 'bad-name' | 'in-use' | 'failed'

  constructor(reason: NfacctError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** The kernel would cut off a longer name, and so use another counter. */
export function assertNfacctName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > 31)
    throw new NfacctError('bad-name', `"${name}" cannot name a counter: use 1 to 31 bytes`)
}
