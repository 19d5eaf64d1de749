import { describe, expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import type { NftErrorReason, NftTransaction } from '../../dataplane/nft/nft.ts'
import { describeOperations } from './testing/describe-operations.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { fateOf } from './testing/fate.ts'
import { FilmedTable } from './testing/filmed-table.ts'
import { applyDamage } from './testing/damage.ts'
import { planNftables } from './plan.ts'
import { ProxiedNode } from './testing/proxied-node.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import type { RecordingTable } from './testing/recording-table.ts'
import { replacement } from './whole-table.ts'

const never = new AbortController().signal
const { node: localIps } = addressPlans.ipv4

const web = testRoute('shop/web:http', {
  clusterIP: '10.112.0.21',
  endpoints: [testEndpoint('10.77.1.5', 8080, { isLocal: true }), testEndpoint('10.77.2.6', 8080)],
})
const edge = testRoute('shop/edge:https', {
  clusterIP: '10.112.0.22',
  port: 443,
  nodePort: 31_443,
  loadBalancerIPs: ['203.0.113.50'],
  sourceRanges: ['198.18.0.0/16'],
  affinitySeconds: 10_800,
  endpoints: [testEndpoint('10.77.2.6', 8443)],
})
const ghost = testRoute('shop/ghost:http', { clusterIP: '10.112.0.24' })

/** A table that a proxy has filled. */
async function filled(...routes: readonly (typeof web)[]): Promise<ProxiedNode> {
  const node = new ProxiedNode()
  await node.sync(routes, { full: true })
  node.table.transactions.length = 0
  return node
}

async function fresh(...routes: readonly (typeof web)[]): Promise<readonly string[]> {
  return (await filled(...routes)).table.contents()
}

async function fate(table: RecordingTable, destination: string, port: number) {
  const packet = { enters: 'prerouting', inInterface: 'cali1', source: '10.77.1.9', protocol: 'tcp' } as const
  return fateOf(endingsOf(await table.ruleset(), { family: 'ipv4', localIps }, { ...packet, destination, port }))
}

function elementOperations(table: RecordingTable): readonly string[] {
  return describeOperations(table.takeOperations()).filter((line) => /^[+-]/.test(line))
}

/** Refuses every transaction that has such a line. */
function refusing(pattern: RegExp, reason: NftErrorReason = 'refused'): RecordingTable['refuses'] {
  return (transaction: NftTransaction) =>
    describeOperations(transaction).some((line) => pattern.test(line))
      ? new NftError(reason, `somebody does not want ${pattern.source}`)
      : undefined
}

describe('a full sync', () => {
  test('makes everything when there is nothing', async () => {
    const { table } = await filled(web, edge, ghost)
    expect((await table.list(never))?.comment).toMatch(/^Fairlead: /)
    expect(await fate(table, '10.112.0.21', 80)).toEqual({ 'to 10.77.1.5:8080': '1/2', 'to 10.77.2.6:8080': '1/2' })
    expect(await fate(table, '10.112.0.22', 443)).toEqual({ 'to 10.77.2.6:8443': '1/1' })
    expect(await fate(table, '10.112.0.24', 80)).toEqual({ rejected: '1/1' })
  })

  test('changes no element of a table that is as it shall be', async () => {
    const { table } = await filled(web, edge, ghost)
    const restarted = new ProxiedNode({ table })
    const report = await restarted.sync([web, edge, ghost], { full: true })
    expect(elementOperations(table)).toEqual([])
    expect(report).toEqual({ facts: { elements: 0 }, failed: [] })
  })

  test('writes the elements that differ, and no others', async () => {
    const { table } = await filled(web, edge)
    await table.damage([
      { do: 'delete elements', set: table.declarationOf('cluster-ips'), keys: ['10.112.0.21'] },
      { do: 'add elements', set: table.declarationOf('cluster-ips'), elements: [{ key: '10.112.0.99' }] },
    ])
    const report = await new ProxiedNode({ table }).sync([web, edge, ghost], { full: true })
    expect(elementOperations(table).toSorted()).toEqual([
      '+ cluster-ips 10.112.0.21',
      '+ cluster-ips 10.112.0.24',
      '+ no-endpoints 10.112.0.24 . tcp . 80 : goto reject-connection',
      '- cluster-ips 10.112.0.99',
    ])
    expect(report.facts).toEqual({ elements: 4 })
  })

  test('replaces a table of another layout in one transaction, though it looks alike', async () => {
    const { table } = await filled(web)
    const whole = replacement(
      planNftables(new ProxiedNode().view(new Map([[edge.key, edge]])), new ProxiedNode().state),
    )
    await table.damage(whole.map((it) => (it.do === 'add table' ? { ...it, comment: 'Fairlead (layout 0)' } : it)))
    await new ProxiedNode({ table }).sync([edge], { full: true })
    expect(table.transactions).toHaveLength(1)
    expect(describeOperations(table.takeOperations()).slice(0, 3)).toEqual(['add table', 'delete table', 'add table'])
    expect(await table.contents()).toEqual(await fresh(edge))
  })

  test('replaces a table whose sets have another type in one transaction', async () => {
    const { table } = await filled(web)
    const { comment = '' } = (await table.list(never)) ?? {}
    await table.damage([
      { do: 'delete table' },
      { do: 'add table', comment },
      { do: 'add set', set: { name: 'services', key: ['inet_service'], comment: '' } },
    ])
    await new ProxiedNode({ table }).sync([edge], { full: true })
    expect(table.transactions).toHaveLength(1)
    expect(await table.contents()).toEqual(await fresh(edge))
  })

  test('removes chains and sets that are not ours', async () => {
    const { table } = await filled(web)
    await applyDamage(table, { kind: 'chains and sets too much', which: 0 })
    await new ProxiedNode({ table }).sync([web], { full: true })
    expect(describeOperations(table.takeOperations()).filter((line) => line.startsWith('delete'))).toEqual([
      'delete set strange-set',
      'delete set strange-map',
      'delete chain stranger',
      'delete chain other-stranger',
    ])
    expect(await table.contents()).toEqual(await fresh(web))
  })

  test('keeps the clients of each endpoint over a restart', async () => {
    const { table } = await filled(web, edge)
    const clients = table.declarationOf('affinity/shop/edge/tcp/https/10.77.2.6/8443')
    await table.damage([{ do: 'add elements', set: clients, elements: [{ key: '198.18.5.9' }] }])
    await new ProxiedNode({ table }).sync([web, edge], { full: true })
    expect([...(await table.elements(clients, never)).keys()]).toEqual(['198.18.5.9'])
  })

  test('follows when other settings ask for other rules, although only a part was to be synced', async () => {
    const node = await filled(web)
    const { settings, nodePortIps } = node.state
    node.state = { settings: { ...settings, masqueradeAll: true }, nodePortIps }
    await node.sync([web])
    const ruleOf = (chain: string) => node.table.rulesOf(chain)?.[0]
    expect(ruleOf('service-dispatch')?.comment).toBe('masquerade all traffic to cluster IPs')
  })
})

describe('a new process with other settings', () => {
  test('serves whom it serves before and after, although its rules would not with the old Services', async () => {
    const table = new FilmedTable()
    const wishes = { clusterIP: '10.112.0.21', nodePort: 31_080, endpoints: [testEndpoint('10.77.2.6', 8080)] }
    // Pods of this node may use endpoints of other nodes, outsiders may not.
    const strict = testRoute('shop/web', { ...wishes, externalPolicy: 'Local' })
    const alike = testRoute('shop/alike', {
      ...wishes,
      clusterIP: '10.112.0.22',
      nodePort: 31_081,
      externalPolicy: 'Local',
    })
    const before = new ProxiedNode({ table })
    await before.sync([strict, alike], { full: true })
    const started = table.moments.splice(0).slice(-1)
    const { settings, nodePortIps } = before.state
    const localTraffic = { kind: 'interface', name: 'cali1' } as const
    const after = new ProxiedNode({ table, state: { settings: { ...settings, localTraffic }, nodePortIps } })
    // Now the pod behind cali2 is an outsider, but they may, too.
    await after.sync([testRoute('shop/web', wishes), alike], { full: true })
    const pod = { enters: 'prerouting', inInterface: 'cali2', source: '10.77.1.9' } as const
    const packet = { ...pod, protocol: 'tcp', destination: localIps[0], port: 31_080 }
    const fates = [...started, ...table.moments].map((moment) =>
      Object.keys(fateOf(endingsOf(moment, { family: 'ipv4', localIps }, packet))).join(' or '),
    )
    expect([...new Set(fates)]).toEqual(['to 10.77.2.6:8080', 'to 10.77.2.6:8080, hidden'])
  })
})

describe('a chain that cannot be removed yet', () => {
  test('is removed after a later sync, and fails none', async () => {
    const node = await filled(web, ghost)
    node.table.refuses = refusing(/^delete chain pick-2/, 'busy')
    const one = testRoute('shop/web:http', { clusterIP: web.clusterIP, endpoints: web.endpoints.slice(1) })
    expect((await node.sync([one, ghost])).failed).toEqual([])
    expect(node.counted).toEqual({ failedSyncs: 0, failedCleanups: 1 })
    expect(node.table.rulesOf('pick-2')).toBeDefined()

    node.table.refuses = () => undefined
    await node.sync([one])
    expect(node.table.rulesOf('pick-2')).toBeUndefined()
    expect(await node.table.contents()).toEqual(await fresh(one))
  })

  test('does not keep others from being removed', async () => {
    const node = await filled(web, edge)
    node.table.refuses = refusing(/^delete chain pick-2/, 'busy')
    await node.sync([])
    expect((await node.table.list(never))?.chains.filter((name) => /pick|sticky|endpoint\//.test(name))).toEqual([
      'pick-2',
    ])
  })

  test('stays when it is needed again before', async () => {
    const node = await filled(web)
    node.table.refuses = refusing(/^delete chain pick-2/, 'busy')
    await node.sync([])
    node.table.refuses = () => undefined
    await node.sync([web])
    expect(node.counted.failedCleanups).toBe(1)
    expect(await node.table.contents()).toEqual(await fresh(web))
  })

  test('may have been removed by somebody else', async () => {
    const node = await filled(web)
    node.table.refuses = refusing(/^delete chain pick-2/, 'busy')
    await node.sync([])
    node.table.refuses = () => undefined
    await node.table.damage([{ do: 'delete chain', name: 'pick-2' }])
    await node.sync([ghost])
    await node.sync([])
    expect(await node.table.contents()).toEqual(await fresh())
    expect(node.counted.failedSyncs).toBe(0)
  })
})

describe('a partial sync that the table refuses', () => {
  test('becomes a full one at once', async () => {
    const node = await filled(web, edge)
    await applyDamage(node.table, { kind: 'the table is gone', which: 0 })
    expect((await node.sync([edge])).failed).toEqual([])
    expect(await node.table.contents()).toEqual(await fresh(edge))
    expect(node.counted.failedSyncs).toBe(0)
  })

  test('leaves partial syncs possible', async () => {
    const node = await filled(web, edge)
    const removed = {
      do: 'delete elements',
      set: node.table.declarationOf('cluster-ips'),
      keys: ['10.112.0.21'],
    } as const
    await node.table.damage([removed])
    await node.sync([edge])
    node.table.takeOperations()
    await node.sync([edge, ghost])
    expect(describeOperations(node.table.takeOperations())).toEqual([
      '+ cluster-ips 10.112.0.24',
      '+ no-endpoints 10.112.0.24 . tcp . 80 : goto reject-connection',
    ])
  })
})

describe('a Service whose elements the table refuses', () => {
  const others = [web, edge]

  test('does not disturb partial syncs of others after that', async () => {
    const node = await filled(edge)
    node.table.refuses = refusing(/10\.112\.0\.24/)
    await node.sync([edge, ghost])
    node.table.takeOperations()
    expect((await node.sync([web, edge, ghost])).failed).toEqual([])
    expect(elementOperations(node.table).filter((line) => !/10\.112\.0\.21|hairpin/.test(line))).toEqual([])
    expect(await node.table.contents()).toEqual(await fresh(...others))
  })

  test('is found among many, with its companions in misfortune', async () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      testRoute(`shop/s${index}`, { clusterIP: `10.112.1.${index}`, endpoints: [testEndpoint('10.77.2.6', 8080)] }),
    )
    const node = await filled()
    node.table.refuses = refusing(/10\.112\.1\.(7|23|24) /)
    const { failed } = await node.sync(many)
    expect(failed.map(({ key }) => key)).toEqual(['shop/s7/TCP', 'shop/s23/TCP', 'shop/s24/TCP'])
  })
})

describe('a failure that is no refusal', () => {
  test('fails the sync, and the next one reads what is there', async () => {
    const node = await filled(web, edge)
    node.table.refuses = refusing(/./, 'failed')
    await expect(node.sync([web])).rejects.toMatchObject({ reason: 'failed' })
    expect(node.counted.failedSyncs).toBe(1)

    node.table.refuses = () => undefined
    await applyDamage(node.table, { kind: 'elements too much', which: 0 })
    await node.sync([web])
    expect(await node.table.contents()).toEqual(await fresh(web))
  })

  test('changes nothing for packets', async () => {
    const node = await filled(web)
    node.table.refuses = refusing(/./, 'not-permitted')
    await expect(node.sync([edge], { full: true })).rejects.toMatchObject({ reason: 'not-permitted' })
    expect(await fate(node.table, '10.112.0.21', 80)).toEqual({
      'to 10.77.1.5:8080': '1/2',
      'to 10.77.2.6:8080': '1/2',
    })
  })

  test('is not counted when the process was asked to stop', async () => {
    const node = await filled(web)
    const stop = AbortSignal.abort(new Error('stopping'))
    await expect(node.backend.sync(node.view(new Map()), { full: true, keys: [], causes: [] }, stop)).rejects.toThrow(
      'stopping',
    )
    expect(node.counted.failedSyncs).toBe(0)
  })
})
