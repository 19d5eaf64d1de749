import type { Backend } from '../../core/backend.ts'
import { disposeAll } from './dispose-all.ts'
import { overBackend } from './over-backend.ts'

/** The backend, which closes or gives back the others, in this order, when it has ended. */
export function endingWith(backend: Backend, ...others: readonly AsyncDisposable[]): Backend {
  return overBackend(backend, {
    [Symbol.asyncDispose]: () => disposeAll([backend, ...others]),
  })
}
