import { readdirSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { attribute, cString, findAttribute, skip, textIn } from './attribute.ts'
import type { NetlinkMessage } from './message.ts'
import type { NetlinkRequest } from './netlink.ts'
import { netfilterAttributes, netfilterBody, netfilterType } from './nfnetlink.ts'
import { openNetlink } from './open-netlink.ts'
import { enterFreshNamespace, missingForNamespace } from './testing/network-namespace.ts'

const { signal } = new AbortController()

describe.skipIf(process.platform !== 'linux')('a netlink socket of this kernel (skipped where it is not Linux)', () => {
  test('lists the network devices', async () => {
    await using socket = await openNetlink('route')
    const names: unknown[] = []
    for await (const messages of socket.dump(listLinks, signal)) names.push(...messages.map(linkName))
    expect(names).toContain('lo')
  })

  test('finds one device, and says that another does not exist', async () => {
    await using socket = await openNetlink('route')
    expect((await socket.request(findLink('lo'), signal)).map(linkName)).toEqual(['lo'])
    await expect(socket.request(findLink('no-such-link'), signal)).rejects.toMatchObject({
      reason: 'not-found',
      message: 'cannot find the link no-such-link: the kernel has no such object (ENODEV)',
    })
    expect(await socket.request(findLink('lo'), signal)).toHaveLength(1)
  })

  test('speaks generic netlink', async () => {
    await using socket = await openNetlink('generic')
    const controller: NetlinkRequest = {
      doing: 'find the family nlctrl',
      type: 0x10,
      body: Buffer.concat([Buffer.of(3, 1, 0, 0), attribute(2, cString('nlctrl'))]),
    }
    const [answer] = await socket.request(controller, signal)
    const id = answer && findAttribute(skip(answer.body, 4), 1)
    expect(id?.buffer.readUInt16LE(id.from)).toBe(0x10)
  })

  test('gives its file descriptor back, also when a dump was left early', async () => {
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    for (let round = 0; round < 20; round++) {
      await using socket = await openNetlink('route')
      for await (const _ of socket.dump(listLinks, signal)) break
    }
    expect(openFiles()).toBe(before)
  })
})

const missing = missingForNamespace('ip')
describe.skipIf(missing !== undefined)(`on netfilter${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  test('a batch may be far larger than the send buffer that the kernel gives by default', async () => {
    enterFreshNamespace()
    await using socket = await openNetlink('netfilter')
    const names = Array.from({ length: 6_000 }, (_, index) => `counter-${index}`)
    expect(await socket.batch(names.map(newCounter), signal)).toEqual(new Map())

    const counted: unknown[] = []
    for await (const messages of socket.dump(listCounters, signal)) counted.push(...messages.map(counterName))
    expect(new Set(counted)).toEqual(new Set(names))
  })

  test('thousands of errors in answer to one batch all arrive', async () => {
    enterFreshNamespace()
    await using socket = await openNetlink('netfilter')
    const requests = Array.from({ length: 5000 }, (_, index) => (index % 2 === 0 ? newCounter('same') : deleteCounter))
    const errors = await socket.batch(requests, signal)
    expect(errors.size).toBe(4999)
    expect(errors.get(1)).toMatchObject({ reason: 'not-found' })
    expect(errors.get(2)?.errno).toBeDefined()
  })
})

test('where there is no netlink, it says so, and that another way is needed', async () => {
  vi.stubGlobal('process', { ...process, platform: 'win32' })
  await expect(openNetlink('netfilter')).rejects.toMatchObject({
    name: 'NetlinkError',
    reason: 'unsupported',
    message: 'cannot open a netlink socket: only Linux has netlink',
  })
  vi.unstubAllGlobals()
})

test('where koffi has no binary, it says so, and that another way is needed', async () => {
  vi.resetModules()
  vi.doMock('koffi', () => {
    throw new Error('no prebuilt binary')
  })
  const fresh = await import('./open-netlink.ts')
  await expect(fresh.openNetlink('route')).rejects.toMatchObject({
    name: 'NetlinkError',
    reason: 'unsupported',
    message: expect.stringContaining(`the package koffi does not load on ${process.platform}-${process.arch}`),
  })
  vi.doUnmock('koffi')
})

const listLinks: NetlinkRequest = { doing: 'list the links', type: 18, body: Buffer.alloc(16) }

function findLink(name: string): NetlinkRequest {
  const body = Buffer.concat([Buffer.alloc(16), attribute(3, cString(name))])
  return { doing: `find the link ${name}`, type: 18, body }
}

function linkName({ body }: NetlinkMessage): string | undefined {
  return textIn(skip(body, 16), 3)
}

function newCounter(name: string): NetlinkRequest {
  const body = netfilterBody('unspecified', attribute(1, cString(name)))
  return { doing: `make the counter ${name}`, type: netfilterType('accounting', 0), flags: 0x600, body }
}

const listCounters: NetlinkRequest = {
  doing: 'list the counters',
  type: netfilterType('accounting', 1),
  body: netfilterBody('unspecified'),
}

const deleteCounter: NetlinkRequest = {
  doing: 'delete a counter',
  type: netfilterType('accounting', 3),
  body: netfilterBody('unspecified', attribute(1, cString('missing'))),
}

function counterName(message: NetlinkMessage): string | undefined {
  return textIn(netfilterAttributes(message), 1)
}
