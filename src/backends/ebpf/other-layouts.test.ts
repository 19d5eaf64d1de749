import { beforeEach, describe, expect, test } from 'vitest'
import type { Change } from '../../core/backend.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { BpfReason } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { passingProgram } from '../../dataplane/ebpf/testing/images.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { choicesOf } from './testing/hook-model.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { cgroup, MemoryNode } from './testing/memory-node.ts'

const never = new AbortController().signal
const pins = '/bpf/fairlead'
const six = testEndpoint('fd64::1', 8080)
const web = testRoute('shop/web', { endpoints: [testEndpoint('10.64.1.1', 8080)] })

/** A new process on the node. */
async function start(node: MemoryNode, layoutNumber: number, door: (bpf: Bpf) => Bpf = (bpf) => bpf) {
  const [clock, log] = [new FakeClock(), new RecordingLogger()]
  const balancer = node.newBalancer(clock, { families: ['ipv4'], layoutNumber, door, log })
  const backend = ipv4Backend({ balancer, clock, log })
  const view = viewOf(addressPlans.ipv4, new Map([[web.key, web]]), [])
  await backend.sync(view, { full: true, keys: [web.key], causes: [] }, never)
  return { backend, log }
}

async function expectOnlyLayout(number: number, node: MemoryNode) {
  const bpf = new MemoryBpf(node.kernel)
  expect(new Set((await bpf.pinned(pins)).map((path) => path.split('/')[0]))).toEqual(new Set([String(number)]))
  expect(await bpf.attached(cgroup, 'connect4')).toHaveLength(1)
}

test.each([
  ['maps/config', 'links/connect4'],
  ['maps/config', 'maps/slots'],
  ['maps/config', 'maps/frontends'],
  ['maps/connected', 'links/connect4'],
  ['links/connect4', 'maps/services'],
])('where %s of another layout is %s, a start goes on without it, and says so', async (at, by) => {
  const node = new MemoryNode()
  await start(node, 1)
  const bpf = new MemoryBpf(node.kernel)
  const other = by.startsWith('maps/') ? await bpf.openMap(`${pins}/1/${by}`) : await bpf.openLink(`${pins}/1/${by}`)
  await bpf.unpin(`${pins}/1/${at}`)
  await bpf.pin(other!, `${pins}/1/${at}`)
  bpf[Symbol.dispose]()

  const { backend, log } = await start(node, 2)
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
  await expectOnlyLayout(2, node)
  expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { message: 'cannot use what another version of Fairlead has pinned', fields: { at: `${pins}/1/${at}` } },
  ])
})

test.each<BpfReason>(['unsupported', 'not-permitted'])(
  'so it does where nothing of another layout can be opened: %s',
  async (reason) => {
    const node = new MemoryNode()
    await start(node, 1)
    const isOfOther = (path: string) => path.startsWith(`${pins}/1/`)
    const refusal = (path: string) => new BpfError(reason, `cannot open ${path}`)
    const { backend, log } = await start(node, 2, (bpf) => {
      const [openMap, openLink] = [bpf.openMap.bind(bpf), bpf.openLink.bind(bpf)]
      bpf.openMap = async (path) => {
        if (isOfOther(path)) throw refusal(path)
        return openMap(path)
      }
      bpf.openLink = async (path) => {
        if (isOfOther(path)) throw refusal(path)
        return openLink(path)
      }
      return bpf
    })
    expect(await backend.compare(never)).toEqual({ kind: 'as written' })
    await expectOnlyLayout(2, node)
    const told = log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields?.['at'])
    expect(told).toContain(`${pins}/1/maps/config`)
    expect(new Set(told).size).toBe(told.length)
  },
)

describe('with both families', () => {
  const client = { port: 80, protocol: 'TCP', isInHostNetns: false, now: 0n } as const
  const routes = { ipv4: web, ipv6: testRoute('shop/web', { family: 'ipv6', clusterIP: 'fd96::1', endpoints: [six] }) }
  const startBoth = (node: MemoryNode, layoutNumber: number) => {
    const clock = new FakeClock()
    const balancer = node.newBalancer(clock, { layoutNumber })
    return async (family: Family, change: Partial<Change> = {}) => {
      const route = routes[family]
      const view = viewOf(addressPlans[family], new Map([[route.key, route]]), [])
      const backend = (backends[family] ??= ipv4Backend({ balancer, clock, family }))
      await backend.sync(view, { full: true, keys: [route.key], causes: [], ...change }, never)
    }
  }
  let backends: Partial<Record<Family, ReturnType<typeof ipv4Backend>>> = {}
  beforeEach(() => {
    backends = {}
  })
  const served = (node: MemoryNode) => {
    const maps = node.mapsAt('connect6')
    return families.filter((family) => {
      const choices = maps && choicesOf(maps, { ...client, ip: routes[family].clusterIP })
      return choices?.every(({ kind }) => kind === 'endpoint') === true
    })
  }

  test('no family is without its tables while another layout is replaced', async () => {
    const node = new MemoryNode()
    const before = startBoth(node, 1)
    for (const family of families) await before(family)
    expect(served(node)).toEqual(families)
    backends = {}
    const sync = startBoth(node, 2)
    await sync('ipv4')
    expect(served(node)).toEqual(families)
    await sync('ipv6')
    expect(served(node)).toEqual(families)
    await expectOnlyLayout(2, node)
  })

  test('a family that is not written does not hold up the other for longer than a sync', async () => {
    const node = new MemoryNode()
    const before = startBoth(node, 1)
    for (const family of families) await before(family)
    backends = {}
    const sync = startBoth(node, 2)
    await sync('ipv4')
    await sync('ipv4', { full: false })
    expect(served(node)).toEqual(['ipv4'])
    await expectOnlyLayout(2, node)
  })
})

test('a folder that cannot be removed is left, with a word', async () => {
  const node = new MemoryNode()
  await start(node, 1)
  const { backend, log } = await start(node, 2, (bpf) => {
    const unpin = bpf.unpin.bind(bpf)
    bpf.unpin = async (path) => {
      if (path === `${pins}/1`) throw new BpfError('not-permitted', `cannot remove the pins at ${path}`)
      return unpin(path)
    }
    return bpf
  })
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
  expect(await new MemoryBpf(node.kernel).attached(cgroup, 'connect4')).toHaveLength(1)
  expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { message: 'cannot remove the tables of another version of Fairlead', fields: { folder: `${pins}/1` } },
  ])
})

test('a map of the own layout whose memory cannot be shared is replaced', async () => {
  const node = new MemoryNode()
  await start(node, 2)
  const { backend } = await start(node, 2, (bpf) => {
    const openMap = bpf.openMap.bind(bpf)
    bpf.openMap = async (path) => {
      if (path.endsWith('/maps/services')) throw new BpfError('unsupported', `cannot map the memory of ${path}`)
      return openMap(path)
    }
    return bpf
  })
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
  const pinned = await new MemoryBpf(node.kernel).openMap(`${pins}/2/maps/services`)
  expect(pinned?.bytes).toEqual(node.mapsAt('connect4')?.services.bytes)
})

test('what others have pinned in the same folder is neither used nor removed', async () => {
  const node = new MemoryNode()
  await start(node, 1)
  const stranger = new MemoryBpf(node.kernel)
  const program = await stranger.loadProgram(passingProgram('guard', 'connect4'), new Map())
  const link = await stranger.attach(program, cgroup)
  const config = await stranger.createMap({ name: 'theirs', type: 'array', keySize: 4, valueSize: 64, maxEntries: 1 })
  await stranger.pin(link, `${pins}/guard/links/connect4`)
  await stranger.pin(config, `${pins}/guard/maps/config`)
  await stranger.pin(config, `${pins}/2b/maps/config`)
  await stranger.pin(config, `${pins}/3`)

  const { log } = await start(node, 2)
  const pinned = await stranger.pinned(pins)
  expect(pinned.filter((path) => !path.startsWith('2/'))).toEqual([
    '2b/maps/config',
    '3',
    'guard/links/connect4',
    'guard/maps/config',
  ])
  expect(config.bytes).toEqual(new Uint8Array(64))
  expect(await stranger.linkState(link)).toMatchObject({ programId: program.id })
  expect(log.at('warn')).toEqual([])
})
