import { expect, test } from 'vitest'
import { VersionedMap } from '../../../core/versioned-map.ts'
import { MemoryIptables } from '../../../dataplane/iptables/memory-iptables.ts'
import { parseSave } from '../../../dataplane/iptables/save-text.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { fullInput } from './full-input.ts'
import { misplacedJumps } from './jumps.ts'
import { removePortals } from './remove-portals.ts'
import type { PortalSettings } from './settings.ts'

const never = new AbortController().signal
const settings: PortalSettings = {
  family: 'ipv4',
  localTraffic: { kind: 'none' },
  masqueradeAll: false,
  keepsClients: true,
  listenIp: '192.0.2.1',
  hostIp: '192.0.2.1',
  nodePortIps: ['0.0.0.0'],
}

const jumps = {
  'nat/PREROUTING': ['KUBE-PORTALS-CONTAINER', 'KUBE-NODEPORT-CONTAINER'],
  'nat/OUTPUT': ['KUBE-PORTALS-HOST', 'KUBE-NODEPORT-HOST'],
  'filter/INPUT': ['KUBE-PORTALS-FIREWALL', 'KUBE-PORTALS-PORTS', 'KUBE-NODEPORT-NON-LOCAL'],
  'filter/FORWARD': ['KUBE-PORTALS-FIREWALL'],
  'filter/OUTPUT': ['KUBE-PORTALS-FIREWALL'],
}

test('an empty kernel gets all jumps in their order', async () => {
  const { targets } = await programmed()
  expect(await targets()).toEqual(jumps)
})

test('rules of others keep their place, and node ports come last', async () => {
  const { kernel, program, targets } = await programmed()
  await kernel.restore('*nat\n-I PREROUTING -j ACCEPT\n-A PREROUTING -j RETURN\nCOMMIT\n', never)
  await program()
  const withOthers = ['ACCEPT', 'KUBE-PORTALS-CONTAINER', 'KUBE-NODEPORT-CONTAINER', 'RETURN']
  expect(await targets()).toEqual({ ...jumps, 'nat/PREROUTING': withOthers })
})

const toPortals =
  'PREROUTING -m comment --comment "handle ClusterIPs; NOTE: this must be before the NodePort rules" -j KUBE-PORTALS-CONTAINER'

test.each([
  ['is missing', `-D ${toPortals}\n`],
  ['stands after node ports', `-D ${toPortals}\n-A ${toPortals}\n`],
  ['is there twice', `-A ${toPortals}\n`],
])('a jump that %s is noticed and repaired', async (_, damage) => {
  const { kernel, program, targets, problem } = await programmed()
  expect(await problem()).toBeUndefined()
  await kernel.restore(`*nat\n${damage}COMMIT\n`, never)
  expect(await problem()).toBe('the jumps from nat/PREROUTING are missing or out of order')
  await program()
  expect(await targets()).toEqual(jumps)
})

test('what is removed at the end is all of it, and nothing of others', async () => {
  const { kernel, targets } = await programmed()
  await kernel.restore('*nat\n:MINE - [0:0]\n-A PREROUTING -j MINE\n-A MINE -j KUBE-PORTALS-HOST\nCOMMIT\n', never)
  await removePortals(kernel, never)
  expect(await targets()).toEqual({ 'nat/PREROUTING': ['MINE'], 'nat/MINE': ['KUBE-PORTALS-HOST'] })
  const state = await readKernelState(kernel, never)
  // Somebody else's rule leads there, so the chain cannot go.
  expect([...state.nat.keys()].filter((chain) => chain.startsWith('KUBE-'))).toEqual(['KUBE-PORTALS-HOST'])
  expect([...state.filter.keys()].filter((chain) => chain.startsWith('KUBE-'))).toEqual([])
})

async function programmed() {
  const kernel = new MemoryIptables({ family: 'ipv4' })
  const program = async () => {
    const state = await readKernelState(kernel, never)
    await kernel.restore(fullInput({ settings, portalsByKey: new VersionedMap() }, state).render(), never)
  }
  await program()
  return {
    kernel,
    program,
    problem: async () => misplacedJumps(await readKernelState(kernel, never), 'ipv4'),
    /** Where the rules of each chain lead. */
    targets: async () => {
      const saved = (await kernel.save('nat', never)) + (await kernel.save('filter', never))
      const lists: Record<string, readonly (string | undefined)[]> = {}
      for (const [table, chains] of parseSave(saved))
        for (const [chain, rules] of chains)
          if (rules.length > 0) lists[`${table}/${chain}`] = rules.map((rule) => rule.split('-j ').pop())
      return lists
    },
  }
}
