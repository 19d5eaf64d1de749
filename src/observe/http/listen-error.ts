/** A server could not get its port. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly reason: 'in-use' | 'not-permitted' | 'no-such-address' | 'failed'

  constructor(what: string, address: string, cause: NodeJS.ErrnoException) {
    const [reason, wayOut] = diagnoses[cause.code ?? ''] ?? ['failed', cause.message]
    super(`cannot listen on ${address} for ${what}: ${wayOut}`, { cause })
    this.reason = reason
  }
}

const diagnoses: Readonly<Record<string, readonly [ListenError['reason'], string]>> = {
  EADDRINUSE: [
    'in-use',
    'the port is in use; stop the process that has it (another kube-proxy?) or choose another port',
  ],
  EACCES: ['not-permitted', 'not permitted; run as root or choose a port above 1023'],
  EADDRNOTAVAIL: ['no-such-address', 'it is not an address of this host; choose one that is, or 0.0.0.0'],
}
