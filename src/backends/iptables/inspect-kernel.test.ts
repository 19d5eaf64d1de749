/** Inspections with the real tools, which print rules in their own way. */
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { findIptables } from '../../dataplane/iptables/find-iptables.ts'
import { createNamespace, missingForRealTools } from '../../dataplane/iptables/testing/network-namespace.ts'
import { families } from '../../net/ip.ts'
import { anyInspectedScene, expectAllAsPlanned, expectDamageToShow, programmed } from '../inspection.contract.ts'
import { iptablesSite, iptablesWorld } from './testing/iptables-site.ts'

const never = new AbortController().signal

for (const variant of ['nf_tables', 'legacy'] as const)
  for (const family of families) {
    const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant === 'legacy' ? 'legacy' : 'nft'}`
    const missing = missingForRealTools([tool])
    describe.skipIf(missing !== undefined)(`${tool} ${missing ?? 'is here'}`, () => {
      test('all is as planned, and what others damage shows', { timeout: 120_000 }, async () => {
        const site = iptablesSite(family)
        await fc.assert(
          fc.asyncProperty(anyInspectedScene(site), fc.nat(), async (scene, which) => {
            await using namespace = await createNamespace()
            const tools = { family, variant, exec: namespace.exec, clock: systemClock, log: silentLogger }
            const iptables = await findIptables({ ...tools, signal: never })
            const world = iptablesWorld(family, iptables, { hasCounters: false })
            await using node = await programmed(site, scene, world)
            await expectAllAsPlanned(node)
            await expectDamageToShow(node, which)
          }),
          { numRuns: 3, endOnFailure: true },
        )
      })
    })
  }
