/** A backend of your own: one function that makes a data plane equal to the state of a node. */
import type { Logger } from '../../core/logger.ts'
import type { NodeChanges } from './node-changes.ts'
import type { NodeService, ServiceId } from './node-service.ts'
import type { ServiceEvent } from './service-events.ts'

export interface NodeUpdate {
  /** The whole state. */
  readonly services: ReadonlyMap<ServiceId, NodeService>
  /**
   * Program everything: the first time, and after a failure. The changes then list everything as new; what is in the
   * data plane but not in the state has to be removed.
   */
  readonly isFull: boolean
  /** What is different since the last success. */
  readonly changes: NodeChanges
  /** The same changes, step by step. */
  readonly events: readonly ServiceEvent[]
}

export interface BackendContext {
  readonly node: string
  readonly log: Logger
  /** Aborts when the backend is to end. */
  readonly signal: AbortSignal
}

export interface KpngBackend {
  /** For logs. */
  readonly name: string
  /** Once, before the first update. */
  setup?(context: BackendContext): Promise<void> | void
  /**
   * Makes the data plane equal to the state. Only one call runs at a time; changes in the meantime come together in the
   * next one. If it throws, it is called again after a pause, with `isFull`.
   */
  sync(update: NodeUpdate, context: BackendContext): Promise<void> | void
  /** Called when the backend ends. Leave the data plane as it is: a restart must not disturb traffic. */
  close?(): Promise<void> | void
}

/** Gives an object literal its types. */
export function defineBackend(backend: KpngBackend): KpngBackend {
  return backend
}
