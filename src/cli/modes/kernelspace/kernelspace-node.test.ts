/** What the mode needs of a Windows node before it starts, and what it says when that is not there. */
import type { NetworkInterfaceInfo } from 'node:os'
import { describe, expect, test } from 'vitest'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { hcnOverDriver } from '../../../dataplane/hcn/hcn-over-driver.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { MemoryDriver } from '../../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../../dataplane/hcn/memory/memory-hns.ts'
import type { ProxyConfig } from '../../../config/proxy-config.ts'
import { defaultConfig } from '../../../config/file/config-from-v1alpha1.ts'
import { memoryHost } from '../../host/testing/memory-host.ts'
import { findKernelspaceNode } from './kernelspace-node.ts'

const never = new AbortController().signal
const nodeIp = '172.30.7.11'
const mac = '00:15:5d:0a:0b:0c'

const nothing = defaultConfig().winkernel
const podNet = { networkName: 'pod-net' }
const overlayed = { ...podNet, sourceVip: '10.61.1.2' }

interface Given {
  /** HNS version, e.g. `15.5`. */
  readonly hns?: string
  readonly network?: 'L2Bridge' | 'Overlay' | 'none'
  readonly winkernel?: Partial<ProxyConfig['winkernel']>
  readonly env?: NodeJS.ProcessEnv
  readonly nodeIp?: string
  readonly interfaces?: readonly (readonly [ip: string, mac: string])[]
}

function given({ hns = '13.1', network = 'L2Bridge', winkernel = podNet, ...rest }: Given = {}) {
  const [major = 0, minor = 0] = hns.split('.').map(Number)
  const store = new MemoryHns({ version: { major, minor } })
  if (network !== 'none') store.putNetwork({ name: 'pod-net', type: network })
  const driver = new MemoryDriver(store)
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const addresses = (rest.interfaces ?? [[nodeIp, mac]]).map(
    ([address, hardware]) => ({ address, mac: hardware, internal: false }) as NetworkInterfaceInfo,
  )
  const host = memoryHost({
    platform: 'win32',
    clock,
    env: rest.env ?? {},
    networkInterfaces: () => ({ Ethernet: addresses }),
  })
  const context = {
    config: { winkernel: { ...nothing, ...winkernel } },
    host,
    nodeIps: { ipv4: rest.nodeIp ?? nodeIp, ipv6: '::1' },
    primaryFamily: 'ipv4',
    log,
  } as const
  const hcn = hcnOverDriver(driver, { clock, timeLimitMs: 30_000 })
  const found = () => findKernelspaceNode(hcn, context, never)
  /** Also when time has to pass. */
  const foundLater = async () => {
    const node = found()
    node.catch(() => {})
    for (let second = 0; second < 12; second++) await clock.advance(1_000)
    return node
  }
  const writes = () => driver.journal.filter(({ operation }) => /create|modify|remove/.test(operation))
  return { store, driver, clock, log, hcn, context, found, foundLater, writes }
}

describe('the network', () => {
  test('is the one of the flag, or of KUBE_NETWORK', async () => {
    expect((await given().found()).network.name).toBe('pod-net')
    expect((await given({ winkernel: {}, env: { KUBE_NETWORK: 'pod-net' } }).found()).network.name).toBe('pod-net')
  })

  test('must have a name', async () => {
    await expect(given({ winkernel: {} }).found()).rejects.toThrow(
      /Environment variable KUBE_NETWORK and network-flag not initialized: .*--network-name/,
    )
  })

  test('is waited for, a second each time, and that is said once', async () => {
    const { store, driver, clock, log, found } = given({ network: 'none' })
    const node = found()
    const lookups = () => driver.journal.filter(({ operation }) => operation === 'enumerateNetworks').length
    await clock.advance(2_999)
    expect(lookups()).toBe(3)
    store.putNetwork({ name: 'pod-net' })
    expect(lookups()).toBe(3)
    await clock.advance(1)
    expect((await node).network.name).toBe('pod-net')
    expect(lookups()).toBe(4)
    expect(clock.now() - Date.UTC(2026, 0, 1)).toBe(3_000)
    expect(log.lines.filter(({ message }) => message.startsWith('waiting'))).toHaveLength(1)
  })

  test('is waited for through errors of HNS, until the process shall end', async () => {
    const { driver, clock, hcn, context } = given({ network: 'none' })
    driver.fault({ operation: 'enumerateNetworks', times: 2, hresult: hresult.rpcUnavailable })
    const stop = new AbortController()
    const node = findKernelspaceNode(hcn, context, stop.signal)
    await clock.advance(2_500)
    stop.abort(new Error('stopped by SIGTERM'))
    await expect(node).rejects.toThrow('stopped by SIGTERM')
    expect(clock.sleeping).toBe(0)
  })

  test('that is an overlay is read again after ten seconds, when its remote subnets have landed', async () => {
    const { store, clock, found } = given({ network: 'Overlay', winkernel: overlayed })
    const node = found()
    await clock.advance(9_999)
    const [network] = store.networks
    const subnet = { prefix: '10.61.2.0/24', providerAddress: '172.30.7.12', isolationId: 4096, routerMac: '' }
    store.changeNetwork(network?.id ?? '', { remoteSubnets: [subnet] })
    await clock.advance(1)
    expect((await node).network.remoteSubnets).toMatchObject([{ prefix: '10.61.2.0/24' }])
  })

  test('that goes away meanwhile is a reason not to start', async () => {
    const { store, clock, found } = given({ network: 'Overlay', winkernel: overlayed })
    const node = found()
    node.catch(() => {})
    await clock.advance(5_000)
    store.removeNetwork(store.networks[0]?.id ?? '')
    await clock.advance(5_000)
    await expect(node).rejects.toThrow('could not find HNS network pod-net')
  })

  test('that cannot be read again is a reason not to start, with the way out', async () => {
    const { driver, clock, found } = given({ network: 'Overlay', winkernel: overlayed })
    const node = found()
    node.catch(() => {})
    await clock.advance(5_000)
    driver.fault({ operation: 'enumerateNetworks', hresult: hresult.accessDenied })
    await clock.advance(5_000)
    await expect(node).rejects.toThrow(
      /the kernelspace mode cannot run here: .*Access is denied.*; run as Administrator or LocalSystem/,
    )
  })

  test('that is read again when the process shall end says nothing of HNS', async () => {
    const { driver, clock, hcn, context } = given({ network: 'Overlay', winkernel: overlayed })
    const stop = new AbortController()
    const node = findKernelspaceNode(hcn, context, stop.signal)
    node.catch(() => {})
    await clock.advance(5_000)
    driver.fault({ operation: 'enumerateNetworks', until: new Promise(() => {}) })
    await clock.advance(5_000)
    stop.abort(new Error('stopped by SIGTERM'))
    // A call into HNS cannot be taken back, only given up.
    await clock.advance(30_000)
    await expect(node).rejects.toThrow('stopped by SIGTERM')
  })
})

describe('HNS', () => {
  test.each([
    ['9.2', { dsr: false }],
    ['9.3', { dsr: true }],
    ['10.1', { dsr: false }],
    ['10.2', { dsr: true }],
    ['11.9', { ipv6DualStack: false }],
    ['11.10', { ipv6DualStack: true }],
    ['12.0', { sessionAffinity: true }],
    ['15.4', { modifyLoadBalancer: false }],
    ['15.5', { modifyLoadBalancer: true }],
    ['16.0', { modifyLoadBalancer: true }],
  ])('%s has %j', async (hns, features) => {
    expect((await given({ hns }).found()).features).toMatchObject(features)
  })

  test('without the V2 API is too old', async () => {
    await expect(given({ hns: '9.1' }).found()).rejects.toThrow(
      'HNS has version 9.1 and lacks the V2 API, which came with 9.2: use Windows Server 2019 or later',
    )
  })

  test('must have direct server return if that is asked for', async () => {
    const winkernel = { ...podNet, enableDsr: true }
    await expect(given({ hns: '10.0', winkernel }).found()).rejects.toThrow(
      /HNS 10.0 has no direct server return: .*--enable-dsr/,
    )
    expect((await given({ hns: '10.2', winkernel }).found()).features.dsr).toBe(true)
  })

  test('that does not answer the first probe ends the start before anything is changed', async () => {
    const { driver, found, writes } = given()
    driver.fault({ operation: 'hnsCall', where: ({ args }) => args[1] === '/policylists/', hresult: 0x80070002 })
    await expect(found()).rejects.toThrow('Windows kernel is not compatible for Kernel mode')
    expect(driver.journal.map(({ args }) => args[1])).toEqual(['/policylists/'])
    expect(writes()).toEqual([])
  })

  test('that lets nobody in says who may', async () => {
    const { driver, found } = given()
    driver.fault({ operation: 'hnsCall', hresult: hresult.accessDenied })
    await expect(found()).rejects.toThrow(/Access is denied.*run as Administrator or LocalSystem/)
  })
})

describe('an overlay network', () => {
  test('needs a source VIP', async () => {
    await expect(given({ network: 'Overlay' }).foundLater()).rejects.toThrow(/source-vip flag not set: .*--source-vip/)
    const winkernel = { ...podNet, sourceVip: 'pod' }
    await expect(given({ network: 'Overlay', winkernel }).foundLater()).rejects.toThrow(
      '"pod", which is not an IP address',
    )
  })

  test('makes one IP family, whatever HNS can', async () => {
    const { families } = await given({ hns: '12.0', network: 'Overlay', winkernel: overlayed }).foundLater()
    expect(families).toEqual(['ipv4'])
  })

  test('needs the hardware address behind the address of the node', async () => {
    const overlay = { network: 'Overlay', winkernel: overlayed } as const
    const { overlay: place } = await given(overlay).foundLater()
    expect(place).toEqual({ sourceVip: '10.61.1.2', hostMac: mac })
    const twice = [
      [nodeIp, '00:15:5D:00:00:01'],
      [nodeIp, '00:15:5D:00:00:02'],
    ] as const
    const { overlay: last } = await given({ ...overlay, interfaces: twice }).foundLater()
    expect(last?.hostMac).toBe('00:15:5d:00:00:02')
    const interfaces = [['172.30.7.99', mac]] as const
    await expect(given({ ...overlay, interfaces }).foundLater()).rejects.toThrow(
      'could not find host mac address for 172.30.7.11',
    )
  })

  test('of a node without an address takes one of the machine that others can reach', async () => {
    const interfaces = [
      ['fe80::1', mac],
      ['169.254.1.1', mac],
      ['2001:db8::1', mac],
      ['172.30.7.5', mac],
    ] as const
    const overlay = { network: 'Overlay', winkernel: overlayed, nodeIp: '127.0.0.1' } as const
    expect((await given({ ...overlay, interfaces }).foundLater()).nodeIp).toBe('172.30.7.5')
    await expect(given({ ...overlay, interfaces: [] }).foundLater()).rejects.toThrow('this node has no address')
  })
})

describe('another network', () => {
  test('makes both IP families where HNS can', async () => {
    expect((await given({ hns: '12.0' }).found()).families).toEqual(['ipv4', 'ipv6'])
    expect((await given({ hns: '11.9' }).found()).families).toEqual(['ipv4'])
  })

  test('has no use for a source VIP, and that is said', async () => {
    const { found, log } = given({ winkernel: overlayed })
    expect((await found()).overlay).toBeUndefined()
    expect(log.at('warn').map(({ fields }) => fields['warning'])).toEqual([
      'winkernel.sourceVip has no effect: network pod-net is L2Bridge, not an overlay',
    ])
  })
})
