/** Declares tests for every proxy; one that cannot run here is skipped, and its name says why. */
import { describe } from 'vitest'
import { fairleadIptables } from './fairlead.ts'
import { kubeProxyIptables } from './kube-proxy.ts'
import { packetTestProblem } from './packet-test-problem.ts'
import type { Proxy } from './proxy.ts'

export const fairleads: readonly Proxy[] = [fairleadIptables('nft'), fairleadIptables('legacy')]

/** The real kube-proxy shows that the tests expect what it does. */
export const allProxies: readonly Proxy[] = [...fairleads, kubeProxyIptables('nft'), kubeProxyIptables('legacy')]

export function describeEach(proxies: readonly Proxy[], tests: (proxy: Proxy) => void): void {
  for (const proxy of proxies) {
    const problem = packetTestProblem(proxy)
    describe.skipIf(problem !== undefined)(`${proxy.name}${skipped(problem)}`, () => {
      tests(proxy)
    })
  }
}

export function skipped(reason: string | undefined): string {
  return reason === undefined ? '' : ` [skipped: ${reason}]`
}
