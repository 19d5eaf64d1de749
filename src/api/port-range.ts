import type { Protocol } from './records.ts'

export const validPort = { min: 1, max: 65_535 } as const

export const protocols = ['TCP', 'UDP', 'SCTP'] as const satisfies readonly Protocol[]

/** Like object names, port names end up in rules and comments of kernel tools. */
export function isPortName(name: string): boolean {
  return /^[A-Za-z0-9._-]{0,63}$/.test(name)
}
