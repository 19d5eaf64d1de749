import { expect, test, vi } from 'vitest'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { plans } from './testing/address-plan.ts'
import { fairleadNftables, startFairleadNftables } from './testing/fairlead.ts'
import type { FairleadProcess } from './testing/fairlead.ts'
import type { Namespace } from './testing/namespace.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { Rig } from './testing/rig.ts'
import { serviceFaults } from './testing/service-faults.ts'
import { givenService } from './testing/service-fixture.ts'

const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1', 'there-1'] })

const tables = { ipv4: 'ip fairlead', ipv6: 'ip6 fairlead' } as const
const door = (family: Family) => `${plans[family].clusterIP(web.index)} . tcp . 80`

/** What others do to the table of a family. */
const damages: readonly (readonly [name: string, script: (table: string, family: Family) => string])[] = [
  ['a flush of all rules', () => 'flush ruleset'],
  ['the deletion of the table', (table) => `delete table ${table}`],
  ['a deleted element', (table, family) => `delete element ${table} services { ${door(family)} }`],
  [
    'an added element',
    (table, family) =>
      `add element ${table} no-endpoints { ${door(family)} : drop }\n` +
      `delete element ${table} services { ${door(family)} }`,
  ],
  ['an emptied map', (table) => `flush map ${table} endpoints`],
  ['an emptied chain', (table) => `flush chain ${table} service-dispatch`],
  ['an added rule', (table) => `insert rule ${table} service-dispatch tcp dport 80 drop`],
]

describeUnless(packetTestProblem(fairleadNftables), 'nftables', () => {
  test.each(damages)('%s is repaired', { concurrent: true }, async (_name, script) => {
    let fairlead: FairleadProcess | undefined
    await using rig = await Rig.startWith(
      async (cluster) => (fairlead = await startFairleadNftables(cluster, {})),
      [web],
    )
    const { node } = rig.cluster
    const before = rulesOf(node)
    expect(await serviceFaults(rig, web)).toEqual([])
    fairlead?.signal('SIGSTOP') // or it may be quicker than we are
    for (const family of families) node.run('nft', ['-f', '-'], { input: script(tables[family], family) })
    expect(await serviceFaults(rig, web)).not.toEqual([])
    fairlead?.signal('SIGCONT')
    await vi.waitFor(() => expect(rulesOf(node)).toEqual(before), patience)
    expect(await serviceFaults(rig, web)).toEqual([])
  })

  test('tables of others are left alone', async () => {
    await using rig = await Rig.start(fairleadNftables, {}, [web])
    const { node } = rig.cluster
    node.run('nft', ['-f', '-'], { input: 'add table inet mine\nadd set inet mine addresses { type ipv4_addr ; }\n' })
    const mine = () => node.run('nft', ['list', 'table', 'inet', 'mine'])
    const before = mine()
    await rig.program([{ ...web, endpoints: ['here-2'] }])
    expect(mine()).toBe(before)
  })
})

const patience = { timeout: 40_000, interval: 50 }

/** In an order that does not depend on the kernel's, and without what packets change. */
function rulesOf(node: Namespace): readonly string[] {
  const listed = node.run('nft', ['--stateless', 'list', 'ruleset'])
  return listed
    .split(/,?\n|, |[{}]|elements = /)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .sort()
}
