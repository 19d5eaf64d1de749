/** Declares tests for every proxy; one that cannot run here is skipped, and its name says why. */
import { describe, expect, test } from 'vitest'
import { fairleadIptables, fairleadNftables } from './fairlead.ts'
import { kubeProxyIptables, kubeProxyNftables } from './kube-proxy.ts'
import { packetTestProblem } from './packet-test-problem.ts'
import type { Proxy } from './proxy.ts'

export const fairleads: readonly Proxy[] = [fairleadIptables('nft'), fairleadIptables('legacy'), fairleadNftables]

/** The real kube-proxy shows that the tests expect what it does. */
export const allProxies: readonly Proxy[] = [
  ...fairleads,
  kubeProxyIptables('nft'),
  kubeProxyIptables('legacy'),
  kubeProxyNftables,
]

export function describeEach(proxies: readonly Proxy[], tests: (proxy: Proxy) => void): void {
  for (const proxy of proxies) describeUnless(packetTestProblem(proxy), proxy.name, () => tests(proxy))
}

export function describeUnless(problem: string | undefined, name: string, tests: () => void): void {
  const declare = problem === undefined ? tests : standIn
  describe.skipIf(problem !== undefined)(`${name}${skipped(problem)}`, { timeout: testTimeoutMs }, () => {
    declare()
  })
}

/** Many processes share a busy machine; what must be quick is measured by benchmarks. */
const testTimeoutMs = 120_000

/** One skipped test stands for all of a group that cannot run, so that hundreds do not hide it. */
function standIn(): void {
  test('all tests of this group', () => {
    expect.unreachable('what these tests need is missing')
  })
}

export function skipped(reason: string | undefined): string {
  return reason === undefined ? '' : ` [skipped: ${reason}]`
}
