import { describe, expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { nodeKernel, proxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal
const address = { ip: '10.96.0.10', port: 80, protocol: 'TCP' } as const

function web(weights: readonly number[], traffic?: Route['traffic']): Route {
  const endpoints = weights.map((weight, index) => testEndpoint(`10.64.0.${index + 1}`, 8080, { weight }))
  return testRoute('shop/web', { endpoints, traffic })
}

function given(options: Parameters<typeof proxiedNode>[0] = {}) {
  const node = proxiedNode(options)
  const { ipvs, iptables } = node.kernel
  const weights = async () => (await ipvs.realServers(address, never)).map(({ weight }) => weight)
  const setByHand = (ip: string, weight: number) =>
    ipvs.apply([{ kind: 'edit-real-server', server: address, realServer: { ip, port: 8080, weight } }], never)
  const scheduler = async () => (await ipvs.find(address, never))?.scheduler
  return { ...node, ipvs, iptables, weights, setByHand, scheduler }
}

describe('a weight', () => {
  test('that changes is one edit in place, and so is the scheduler', async () => {
    const { sync, ipvs, weights } = given()
    await sync([web([1, 1])], { full: true })
    ipvs.operations.length = 0
    await sync([web([1, 3])])
    expect(ipvs.operations).toMatchObject([
      { kind: 'edit-server', server: { scheduler: 'wrr' } },
      { kind: 'edit-real-server', realServer: { ip: '10.64.0.2', weight: 3 } },
    ])
    ipvs.operations.length = 0
    await sync([web([2, 3])])
    expect(ipvs.operations).toMatchObject([{ kind: 'edit-real-server', realServer: { ip: '10.64.0.1', weight: 2 } }])
    expect(await weights()).toEqual([2, 3])
  })

  test('is written by a process that finds another one at its start', async () => {
    const { sync, weights, kernel, ipvs } = given()
    await sync([web([1, 3])], { full: true })
    const next = proxiedNode({ kernel })
    await next.sync([web([4, 3])], { full: true })
    expect(await weights()).toEqual([4, 3])
    ipvs.operations.length = 0
    await proxiedNode({ kernel }).sync([web([4, 3])], { full: true })
    expect(ipvs.operations).toEqual([])
  })

  test('that somebody set by hand stays, until ours changes', async () => {
    const { sync, weights, setByHand } = given()
    await sync([web([1, 3])], { full: true })
    await setByHand('10.64.0.1', 9)
    await setByHand('10.64.0.2', 0)
    await sync([web([1, 3])], { full: true })
    expect(await weights()).toEqual([9, 0])
    await sync([web([2, 3])], { full: true })
    expect(await weights()).toEqual([2, 0])
    await sync([web([2, 4])])
    expect(await weights()).toEqual([2, 4])
  })

  test('that was written by a sync that failed later is known to be ours', async () => {
    const { sync, weights, kernel } = given()
    await sync([web([1, 3])], { full: true })
    const add = kernel.addresses.add.bind(kernel.addresses)
    kernel.addresses.add = () => Promise.reject(new Error('the test says no'))
    const moved = (weights: readonly number[]) => ({ ...web(weights) })
    const other = testRoute('shop/other', { clusterIP: '10.96.0.11', endpoints: web([1]).endpoints })
    await expect(sync([moved([1, 5]), other])).rejects.toThrow('says no')
    kernel.addresses.add = add
    expect(await weights()).toEqual([1, 5])
    await sync([moved([1, 3]), other], { full: true })
    expect(await weights()).toEqual([1, 3])
  })

  test('that is refused is reported, and tried again', async () => {
    const { sync, weights, ipvs } = given()
    await sync([web([1, 3])], { full: true })
    ipvs.refuse = ({ kind }) => (kind === 'edit-real-server' ? 'refused' : undefined)
    expect((await sync([web([1, 5])])).failed).toHaveLength(1)
    expect(await weights()).toEqual([1, 3])
    ipvs.refuse = () => undefined
    await sync([web([1, 5])])
    expect(await weights()).toEqual([1, 5])
  })

  test('of an endpoint that drained comes back with it', async () => {
    const { sync, weights, ipvs } = given()
    await sync([web([1, 3])], { full: true })
    ipvs.setConnections(address, '10.64.0.2:8080', 1, 0)
    await sync([web([1])])
    expect(await weights()).toEqual([1, 0])
    await sync([web([1, 4])])
    expect(await weights()).toEqual([1, 4])
  })
})

describe('a scheduler that the kernel does not have', () => {
  const withoutMh = () => {
    const log = new RecordingLogger()
    const kernel = nodeKernel()
    const node = given({ kernel, log })
    kernel.ipvs.refuse = (operation) =>
      'scheduler' in operation.server && operation.server.scheduler === 'mh' ? 'module-missing' : undefined
    return { ...node, log }
  }

  test('is replaced by the usual one, which is told once, and tried again when the Service changes', async () => {
    const { sync, ipvs, scheduler, weights, log } = withoutMh()
    const report = await sync([web([1, 1], { algorithm: 'maglev' })], { full: true })
    expect([report.failed, await scheduler(), await weights()]).toEqual([[], 'rr', [1, 1]])
    await sync([web([1, 3], { algorithm: 'maglev' })])
    expect([await scheduler(), await weights()]).toEqual(['wrr', [1, 3]])
    expect(log.at('warn')).toMatchObject([{ fields: { scheduler: 'mh' } }])
    ipvs.refuse = () => undefined
    await sync([web([2, 3], { algorithm: 'maglev' })])
    expect([await scheduler(), await weights()]).toEqual(['mh', [2, 3]])
  })

  test('takes nothing from a Service that had another one', async () => {
    const { sync, scheduler, weights, backend } = withoutMh()
    await sync([web([1, 1], { ipvsScheduler: 'lc' })], { full: true })
    expect((await sync([web([1, 1, 1], { ipvsScheduler: 'mh' })])).failed).toEqual([])
    expect([await scheduler(), await weights()]).toEqual(['rr', [1, 1, 1]])
    expect(await backend.compare(never)).toEqual({ kind: 'as written' })
  })
})
