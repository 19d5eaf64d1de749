/** Turns a failed bind into what a person can do about it. */
import { hostPort } from '../../net/ip.ts'
import { portAdvice } from '../../net/port-advice.ts'
import { isOutOfDescriptors } from './descriptor-budget.ts'
import type { ListenerSpec, ListenProblem, ListenResult } from './relay.ts'

export function listenFailure(
  { address, protocol }: Pick<ListenerSpec, 'address' | 'protocol'>,
  error: unknown,
  platform = process.platform,
): ListenResult {
  const problem = problemOf(error)
  const where = `cannot listen on ${hostPort(address.ip, address.port)}/${protocol}`
  const isReserved = problem === 'not-permitted' && platform === 'win32'
  const advice = isReserved ? `not permitted; ${portAdvice(platform, protocol)}` : wayOut[problem](error, address)
  return { ok: false, problem, message: `${where}: ${advice}` }
}

function problemOf(error: unknown): ListenProblem {
  if (isOutOfDescriptors(error)) return 'out-of-descriptors'
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && Object.hasOwn(problemsByCode, code) ? problemsByCode[code as Code] : 'failed'
}

const problemsByCode = {
  EADDRINUSE: 'in-use',
  EADDRNOTAVAIL: 'not-local',
  EACCES: 'not-permitted',
  EPERM: 'not-permitted',
} as const
type Code = keyof typeof problemsByCode

const wayOut: Readonly<Record<ListenProblem, (error: unknown, address: ListenerSpec['address']) => string>> = {
  'in-use': () => 'the address is already in use; free it, or give the Service another port',
  'not-local': (_, { ip }) => `${ip} is not an address of this machine; add it to an interface to serve it here`,
  'not-permitted': (_, { port }) =>
    `not permitted; ports below 1024 (here ${port}) need root or CAP_NET_BIND_SERVICE, or give the Service a higher port`,
  'out-of-descriptors': () => 'too many open files; raise the limit (ulimit -n, LimitNOFILE= in systemd)',
  failed: (error) => (error instanceof Error ? error.message : String(error)),
}
