/**
 * Search as you type. Each Service has one text, made once, with everything that it can be found by; a word of the reader is
 * found anywhere in it. So 50,000 Services take some milliseconds.
 */
import type { ServiceRow } from '../../../src/observe/console/wire.ts'
import type { Filter } from './question.ts'

/** Words between spaces: ` shop/web clusterip 10.96.0.10 :80/tcp http :30080/tcp `. A space on both sides makes a word exact. */
export function haystackOf({ key, type, clusterIPs, external = [], ports, policies = [] }: ServiceRow): string {
  const words = [key, type, ...clusterIPs, ...external]
  for (const { name = '', port, nodePort, protocol } of ports) {
    words.push(`:${port}/${protocol}`, name)
    if (nodePort !== undefined) words.push(`:${nodePort}/${protocol}`)
  }
  return ` ${[...words, ...policies].join(' ')} `.toLowerCase()
}

/** All of them must be found. An address with a port means just this one. */
export function wordsIn(text: string): readonly string[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return words.flatMap((word) => {
    const [, ip, port] = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+)):(\d+)$/.exec(word)?.filter(isPresent) ?? []
    return ip === undefined || port === undefined ? [word] : [` ${ip} `, ` :${port}/`]
  })
}

export function isFound(haystack: string, words: readonly string[]): boolean {
  for (const word of words) if (!haystack.includes(word)) return false
  return true
}

/** Whether what `after` finds is among what `before` finds: only that has to be looked at while somebody goes on typing. */
export function isNarrower(before: readonly string[], after: readonly string[]): boolean {
  return before.every((old) => after.some((word) => word.includes(old)))
}

export const isKept: Readonly<Record<Filter, (row: ServiceRow) => boolean>> = {
  problem: ({ problem }) => problem !== undefined,
  // Those that turn clients away: a Service without an address has none.
  'no-endpoints': ({ endpoints, clusterIPs }) => endpoints.ready === 0 && clusterIPs.some((ip) => ip !== 'None'),
  external: ({ external = [], ports }) => external.length > 0 || ports.some(({ nodePort }) => nodePort !== undefined),
  policy: ({ policies = [] }) => policies.length > 0,
}

function isPresent<Value>(value: Value | undefined): value is Value {
  return value !== undefined
}
