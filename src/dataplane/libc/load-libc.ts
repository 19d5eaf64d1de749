import type * as libc from './libc.ts'

export type Libc = typeof libc

/** Loads it only when it is needed. Rejects where koffi has no binary for this machine. */
export const loadLibc = (): Promise<Libc> => import('./libc.ts')
