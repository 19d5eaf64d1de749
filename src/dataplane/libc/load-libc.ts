import type * as libc from './libc.ts'

export type Libc = typeof libc

/** Only when somebody needs it. Rejects where koffi has no binary for this machine. */
export const loadLibc = (): Promise<Libc> => import('./libc.ts')
