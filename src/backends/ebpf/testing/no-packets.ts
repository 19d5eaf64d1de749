import type { Backend } from '../../../core/backend.ts'

/** Nobody looks at packets here. */
export const noPackets: Backend = {
  name: 'no packets',
  sync: () => Promise.resolve({ facts: {}, failed: [] }),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}
