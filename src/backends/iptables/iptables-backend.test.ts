import { describe, expect, test } from 'vitest'
import { service, slice } from '../../core/testing/objects.ts'
import { rulesetDifferences } from '../../../tests/testing/compare-rulesets.ts'
import { manyServices, never, setUp, web } from './testing/backend-site.ts'

describe('a change', () => {
  test('sends the chains of its Service and nothing of the others', async () => {
    const { catalog, kernel, sync } = setUp()
    for (const other of manyServices(50)) catalog.upsert(other)
    catalog.upsert(web)
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1', '10.64.0.2']))
    await sync(true)
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1', '10.64.0.3']))
    await sync()
    const sent = kernel.inputs.at(-1) ?? ''
    expect(sent).not.toContain('load/')
    expect(sent).not.toContain(':KUBE-SERVICES')
    expect(sent.split('\n').filter((line) => line.startsWith('-X'))).toHaveLength(1)
    expect(sent.length).toBeLessThan(4096)
  })

  test('of an address of the node moves the last rules only', async () => {
    const { catalog, kernel, sync, fromScratch, localIps } = setUp()
    catalog.upsert(web)
    await sync(true)
    localIps.push('10.200.0.3')
    await sync()
    expect(
      kernel.inputs
        .at(-1)
        ?.split('\n')
        .filter((line) => /^-[AID]/.test(line)),
    ).toHaveLength(3)
    expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch())).toEqual([])
  })

  test('that changes nothing here sends nothing', async () => {
    const { kernel, sync } = setUp()
    await sync(true)
    await sync()
    expect(kernel.inputs).toHaveLength(1)
  })
})

test('a large cluster is written in pieces that each stand alone, and ends up the same', async () => {
  const { catalog, kernel, sync } = setUp()
  for (const one of manyServices(600)) {
    catalog.upsert(one)
    catalog.upsert(slice(`load/${one.name}-1`, one.name, ['10.64.1.1']))
  }
  await sync(true)
  expect(kernel.inputs).toHaveLength(5)
  const entry = kernel.inputs.at(-1) ?? ''
  for (const piece of kernel.inputs.slice(0, -1)) expect(piece).not.toContain(':KUBE-SERVICES')
  expect(entry.match(/-A KUBE-SERVICES/g)).toHaveLength(601)
  const saved = await kernel.saveAll(never)
  await sync(true)
  expect(await kernel.saveAll(never)).toBe(saved)
})

test('a thousand endpoints keep their comments, one more and the rules of endpoints lose them', async () => {
  const { catalog, kernel, sync } = setUp()
  const ips = (count: number) => Array.from({ length: count }, (_, i) => `10.64.${i >> 8}.${i & 255}`)
  catalog.upsert(web)
  catalog.upsert(slice('demo/web-1', 'web', ips(1000)))
  await sync(true)
  expect(await kernel.save('nat', never)).toContain('demo/web -> 10.64.0.1:8080')
  catalog.upsert(slice('demo/web-1', 'web', ips(1001)))
  await sync()
  const saved = await kernel.save('nat', never)
  expect(saved).not.toContain('demo/web -> ')
  expect(saved).toContain('demo/web cluster IP')
})

test('a change that meets rules which others flushed repairs everything at once', async () => {
  const { catalog, kernel, sync, fromScratch, counted } = setUp()
  catalog.upsert(web)
  catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1']))
  await sync(true)
  await kernel.restore('*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n', never)
  catalog.remove('Service', 'demo/web' as never)
  catalog.upsert(service('demo/db', { clusterIP: '10.96.0.2', ports: [{ port: 80 }] }))
  await sync()
  expect(counted.failures).toEqual([false])
  expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch())).toEqual([])
})

test('a kernel whose rules cannot use counters is programmed without them', async () => {
  const { catalog, kernel, sync } = setUp({ missingMatches: new Set(['nfacct']) })
  catalog.upsert(web)
  expect(await sync(true)).toMatchObject({ failed: [] })
  const saved = await kernel.saveAll(never)
  expect(saved).toContain('--ctstate INVALID -j DROP')
  expect(saved).not.toContain('nfacct')
})

test('counters are not given up before the kernel has taken rules without them', async () => {
  const missingMatches = new Set(['nfacct'])
  const { catalog, kernel, sync } = setUp({ missingMatches })
  catalog.upsert(web)
  kernel.isLost = (input) => input.includes(':KUBE-SERVICES') && !input.includes('nfacct')
  await expect(sync(true)).rejects.toThrow('xtables lock')
  kernel.isLost = () => false
  missingMatches.clear()
  await sync(true)
  expect(await kernel.saveAll(never)).toContain('nfacct')
})

describe('a failure', () => {
  test('is counted, and the full sync after it repairs everything', async () => {
    const { catalog, kernel, sync, fromScratch, counted } = setUp()
    await sync(true)
    catalog.upsert(web)
    kernel.failures = 1
    await expect(sync()).rejects.toThrow('xtables lock')
    catalog.upsert(slice('demo/web-1', 'web', ['10.64.0.1']))
    await sync(true)
    expect(counted.failures).toEqual([false])
    expect(rulesetDifferences(await kernel.saveAll(never), await fromScratch())).toEqual([])
  })
})

test('a rule that the kernel refuses costs its own Service only, which is named with the reason', async () => {
  const { catalog, kernel, sync, counted } = setUp({ missingMatches: new Set(['recent']) })
  for (const other of manyServices(20)) {
    catalog.upsert(other)
    catalog.upsert(slice(`load/${other.name}-1`, other.name, ['10.64.1.1']))
  }
  const sticky = (name: string, ip: string) =>
    service(`demo/${name}`, { clusterIP: ip, ports: [{ port: 80 }], sessionAffinity: 'ClientIP' })
  catalog.upsert(sticky('one', '10.96.0.1'))
  catalog.upsert(slice('demo/one-1', 'one', ['10.64.0.1']))
  catalog.upsert(sticky('two', '10.96.0.2'))
  catalog.upsert(slice('demo/two-1', 'two', ['10.64.0.2']))
  const report = await sync(true)
  expect(report.failed.map(({ key }) => key)).toEqual(['demo/one/TCP', 'demo/two/TCP'])
  expect(report.failed[0]?.reason).toContain('recent')
  const saved = await kernel.saveAll(never)
  expect(saved.match(/load\/s\d+ cluster IP" -m tcp --dport 80 -j KUBE-SVC/g)).toHaveLength(20)
  expect(saved).not.toContain('demo/one')
  expect(saved).not.toContain('TRIAL')
  expect(counted.failures).toEqual([true])
})

test('a fresh node has as many rules as kube-proxy counts', async () => {
  const { sync, counted } = setUp()
  await sync(true)
  // This node's ports are not open on loopback, so the rule against neighbours on loopback is not there.
  expect(counted.rules).toEqual({ filter: { total: 3, last: 3 }, nat: { total: 5, last: 5 } })
})

test('chains that an earlier process left behind go, foreign ones and those of the kubelet stay', async () => {
  const { kernel, sync } = setUp()
  await kernel.restore(
    '*filter\n:KUBE-FIREWALL - [0:0]\n-A KUBE-FIREWALL -j DROP\nCOMMIT\n' +
      '*nat\n:KUBE-SVC-OLD - [0:0]\n:KUBE-SEP-OLD - [0:0]\n:DOCKER - [0:0]\n-A KUBE-SVC-OLD -j KUBE-SEP-OLD\nCOMMIT\n',
    never,
  )
  await sync(true)
  const saved = await kernel.saveAll(never)
  expect(saved).not.toContain('OLD')
  expect(saved).toContain(':DOCKER')
  expect(saved).toContain('-A KUBE-FIREWALL -j DROP')
})

test('a chain that an earlier process left behind, and that a foreign rule jumps to, is emptied', async () => {
  const { kernel, sync } = setUp()
  await kernel.restore(
    '*nat\n:KUBE-SVC-OLD - [0:0]\n:KUBE-SEP-OLD - [0:0]\n:DOCKER - [0:0]\n' +
      '-A KUBE-SVC-OLD -j KUBE-SEP-OLD\n-A DOCKER -p tcp -j KUBE-SVC-OLD\nCOMMIT\n',
    never,
  )
  await sync(true)
  const saved = await kernel.saveAll(never)
  expect(saved).not.toContain('KUBE-SEP-OLD')
  expect(saved).not.toContain('-A KUBE-SVC-OLD')
  expect(saved).toContain('-A DOCKER -p tcp -j KUBE-SVC-OLD')
})

test('a jump that an operator has put below a rule of his own stays where it is', async () => {
  const { kernel, sync } = setUp()
  await sync(true)
  await kernel.ensureRule('filter', 'FORWARD', ['-j', 'ACCEPT'], never)
  const before = await kernel.saveAll(never)
  await sync(true)
  expect(await kernel.saveAll(never)).toBe(before)
})
