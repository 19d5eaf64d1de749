import type { Protocol } from './records.ts'

export const validPort = { min: 1, max: 65_535 } as const

export const protocols = ['TCP', 'UDP', 'SCTP'] as const satisfies readonly Protocol[]
