/** The kernel's named counters, which iptables rules feed with `-m nfacct`. */
export interface Nfacct {
  /** Undefined when there is no such counter. Rejects with an NfacctError. */
  read(name: string, signal: AbortSignal): Promise<NfacctCounter | undefined>
  /** Makes the counter when it is missing; one that is there keeps its count. Rejects with an NfacctError. */
  ensure(name: string, signal: AbortSignal): Promise<void>
  /** A counter that is not there is fine; one that a rule names is refused with `in-use`. Rejects with an NfacctError. */
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

/** The kernel would cut a longer name, and then count under another one. */
export function assertNfacctName(name: string): void {
  if (name === '' || Buffer.byteLength(name) > 31)
    throw new NfacctError('bad-name', `"${name}" cannot name a counter: use 1 to 31 bytes`)
}
