/** Chooses the engine for this machine. */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { NodeRelay } from './node-relay.ts'
import type { Relay, RelaySettings } from './relay.ts'
import { ThreadedRelay } from './threaded-relay.ts'

export interface OpenRelayOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Worker threads that carry the connections; 0 means one per core, and none where there is one core only. */
  readonly threads: number
  readonly settings?: Partial<RelaySettings>
}

export function openRelay({ threads: wanted, ...options }: OpenRelayOptions): Relay {
  const cores = availableParallelism()
  const threads = wanted > 0 || cores === 1 ? wanted : cores
  const program = new URL('./relay-worker.js', import.meta.url)
  if (threads === 0) return new NodeRelay(options)
  // Beside TypeScript sources there is no compiled worker.
  if (!existsSync(fileURLToPath(program))) {
    options.log.debug(1, 'connections are carried by the main thread: the program of worker threads is not there', {
      missing: program.href,
    })
    return new NodeRelay(options)
  }
  options.log.info('connections are carried by worker threads', { threads })
  return new ThreadedRelay({ ...options, threads, program })
}
