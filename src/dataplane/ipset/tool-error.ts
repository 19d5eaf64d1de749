/** Makes an IpsetError from the error text of the `ipset` command. */
import { IpsetError } from './ipset.ts'
import type { IpsetReason } from './ipset.ts'

/** With `type`, the type of the set, the error can name the missing module. */
export function toolError(doing: string, stderr: string, type?: string): IpsetError {
  const said = stderr
    .replace(/^ipset v[\d.]+: /gm, '')
    .replace(/^Error in line \d+: /gm, '')
    .trim()
  const { reason, wayOut } = explanations.find(({ pattern }) => pattern.test(said)) ?? otherwise
  return new IpsetError(reason, `cannot ${doing}: ${wayOut(type)}${said === '' ? '' : ` (${said})`}`)
}

/** The number of the line, from 1, that `ipset restore` stopped at. */
export function failedLine(stderr: string): number | undefined {
  const [, number] = /Error in line (\d+)/.exec(stderr) ?? []
  return number === undefined ? undefined : Number(number)
}

interface Explanation {
  readonly pattern: RegExp
  readonly reason: IpsetReason
  readonly wayOut: (type: string | undefined) => string
}

const otherwise: Omit<Explanation, 'pattern'> = { reason: 'refused', wayOut: () => 'ipset refused' }

const explanations: readonly Explanation[] = [
  { pattern: /Operation not permitted|must be root/i, reason: 'not-permitted', wayOut: needsRoot },
  { pattern: /second set does not exist|given name does not exist/, reason: 'not-found', wayOut: () => 'no such set' },
  { pattern: /same name already exists/, reason: 'exists', wayOut: destroyFirst },
  { pattern: /in use by a kernel component/, reason: 'in-use', wayOut: () => 'a rule still uses it' },
  { pattern: /is full/, reason: 'full', wayOut: () => 'it is full' },
  { pattern: /typename .* is unknown|set type not supported|Cannot open session/i, ...missingModule() },
]

function needsRoot(): string {
  return 'run as root, or give the container CAP_NET_ADMIN'
}

function destroyFirst(): string {
  return 'a set of this name has another type or other parameters; "ipset destroy" it'
}

function missingModule(): Omit<Explanation, 'pattern'> {
  return {
    reason: 'module-missing',
    wayOut: (type) => {
      const module = type === undefined ? 'ip_set' : `ip_set_${type.replace(':', '_').replaceAll(',', '')}`
      return `the kernel does not support this; load the module with "modprobe ${module}"`
    },
  }
}
