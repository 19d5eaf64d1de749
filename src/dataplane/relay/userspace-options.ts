/** What an operator may choose about the relay. */
export interface UserspaceOptions {
  /** Threads that carry the connections; 0: one per core. */
  readonly workers: number
  /** `auto`: the native engine where it is built and runs, else Node's own sockets. */
  readonly engine: 'auto' | 'native' | 'node'
  /** How long connections may outlive their endpoint or Service; undefined: until they end. */
  readonly drainTimeoutMs: number | undefined
}
