import { missingPrograms } from './iptables-variant.ts'
import { namespaceProblem } from './namespace.ts'
import type { Proxy } from './proxy.ts'

/** Why tests with real packets cannot run here, or undefined when they can. */
export function packetTestProblem(proxy: Proxy): string | undefined {
  return namespaceProblem() ?? missingPrograms('ip', 'setpriv') ?? proxy.missing()
}
