import type { ProblemNotes } from './field-checks.ts'
import type { PortRange, Protocol } from './records.ts'

export const validPort = { min: 1, max: 65_535 } as const

export const protocols = ['TCP', 'UDP', 'SCTP'] as const satisfies readonly Protocol[]

/** `30000-30100`. Undefined: it is none. One port alone is no range. */
export function parsePortRange(text: string): PortRange | undefined {
  const [, first = Number.NaN, last = Number.NaN] =
    /^([1-9]\d{0,4})\s*-\s*([1-9]\d{0,4})$/.exec(text)?.map(Number) ?? []
  return first < last && last <= validPort.max ? { first, last } : undefined
}

export function isInPortRange(port: number, { first, last }: PortRange): boolean {
  return port >= first && port <= last
}

/** Like object names, port names end up in rules and comments of kernel tools. */
export function isPortName(name: string): boolean {
  return /^[A-Za-z0-9._-]{0,63}$/.test(name)
}

/** A slice port without a number means that the endpoints serve every port. */
export function isEveryPort(port: unknown, field: string, notes: ProblemNotes): boolean {
  if (port !== undefined && port !== null && port !== 0) return false
  notes.problem(field, 'must be a number: a port that means "all ports" cannot be proxied')
  return true
}
