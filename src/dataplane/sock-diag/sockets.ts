/** The interface to the sockets of all programs on this machine. Each implementation passes `sockets.contract.ts`. */

/** A socket that is connected to something. */
export interface ConnectedSocket {
  /** The kernel's number for the socket, never used again. */
  readonly cookie: bigint
  /** The kernel's number for its network namespace. */
  readonly netns: bigint
  readonly protocol: 'TCP' | 'UDP'
  /** What it is connected to. IPv4 is written as IPv4, also for sockets of IPv6. */
  readonly ip: string
  readonly port: number
}

export interface Destruction {
  /** How many there were, and are no more connected. */
  readonly destroyed: number
  /** Cookies of those in network namespaces that this process did not find, or may not enter. */
  readonly unreached: readonly bigint[]
}

export interface FoundSockets {
  readonly sockets: readonly ConnectedSocket[]
  /** How many network namespaces it found and may not enter. */
  readonly closedNamespaces: number
}

/**
 * How far this process gets, besides its own network namespace. `others`: it has entered another one. `alone`: it saw none.
 * `closed`: it saw some, and may enter none of them. `hidden`: it saw none, and there are processes that do not show theirs.
 * `forbidden`: it may not enter any, not even its own.
 */
export type Reach = 'others' | 'alone' | 'closed' | 'hidden' | 'forbidden'

export interface Sockets {
  /** The number of the network namespace that this process is in. Missing before Linux 5.14. */
  ownNamespace(): Promise<bigint | undefined>
  /** Tries to enter network namespaces, until it is in another one. */
  reach(): Promise<Reach>
  /**
   * Those that are connected to what is wanted, in every network namespace that this process finds and may enter. Rejects
   * with a SocketsError.
   */
  find(
    protocol: ConnectedSocket['protocol'],
    isWanted: (ip: string, port: number) => boolean,
    signal: AbortSignal,
  ): Promise<FoundSockets>
  /**
   * Takes away the connection of these sockets: what waits in `recv` wakes with an error, and the program can connect
   * again. Those that are gone already, or connected to something else, do not matter. Rejects with a SocketsError.
   */
  destroy(sockets: readonly ConnectedSocket[], signal: AbortSignal): Promise<Destruction>
  /** Tries it with a socket of its own. Rejects as `destroy` does if the kernel cannot. */
  tryDestroy(signal: AbortSignal): Promise<void>
}

export class SocketsError extends Error {
  override readonly name = 'SocketsError'
  /** `unsupported`: this kernel cannot destroy sockets. `failed`: try again. */
  readonly reason: 'unsupported' | 'not-permitted' | 'failed'

  constructor(reason: SocketsError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
