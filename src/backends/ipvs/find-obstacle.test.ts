import { expect, test } from 'vitest'
import { IpsetError } from '../../dataplane/ipset/ipset.ts'
import { MemoryIpset } from '../../dataplane/ipset/memory-ipset.ts'
import { IpvsError } from '../../dataplane/ipvs/ipvs.ts'
import { MemoryIpvs } from '../../dataplane/ipvs/memory-ipvs.ts'
import { findObstacle } from './find-obstacle.ts'
import { memoryKernel } from './testing/memory-kernel.ts'

const never = new AbortController().signal
const ipset = new MemoryIpset()
const server = { ip: '10.96.0.1', port: 80, protocol: 'TCP', flags: 0, timeoutSeconds: 0 } as const

const withIpset = (version: string) =>
  findObstacle({ ipvs: new MemoryIpvs(), ipset: new MemoryIpset({ version }), scheduler: 'rr' }, never)

test.each(['6.0', '7.17', '10.1'])('ipset %s will do', async (version) => {
  expect(await withIpset(version)).toBeUndefined()
})

test('ipset 4.3 is too old', async () => {
  expect(await withIpset('4.3')).toContain('4.3 is less than min required version: 6.0')
})

test('an ipset that cannot be run is in the way', async () => {
  const missing = { version: () => Promise.reject(new IpsetError('tool-missing', 'there is no ipset')) }
  expect(await findObstacle({ ipvs: new MemoryIpvs(), ipset: missing, scheduler: 'rr' }, never)).toBe(
    'there is no ipset',
  )
})

test('a scheduler is tried with a virtual server that nobody can meet, and nothing is left of it', async () => {
  const { ipvs } = memoryKernel()
  await ipvs.apply([{ kind: 'add-server', server: { ...server, scheduler: 'rr' } }], never)
  ipvs.operations.length = 0
  expect(await findObstacle({ ipvs, ipset, scheduler: 'sh' }, never)).toBeUndefined()
  expect(ipvs.operations).toMatchObject([
    { kind: 'add-server', server: { ip: '198.51.100.0', port: 20_000, protocol: 'TCP', scheduler: 'sh' } },
    { kind: 'delete-server', server: { ip: '198.51.100.0' } },
  ])
  expect(await ipvs.list(never)).toHaveLength(1)
})

test('a scheduler that is in use needs no trial', async () => {
  const { ipvs } = memoryKernel()
  await ipvs.apply([{ kind: 'add-server', server: { ...server, scheduler: 'sh' } }], never)
  ipvs.operations.length = 0
  expect(await findObstacle({ ipvs, ipset, scheduler: 'sh' }, never)).toBeUndefined()
  expect(ipvs.operations).toEqual([])
})

test('a scheduler that the kernel does not have is in the way', async () => {
  const ipvs = new MemoryIpvs(['rr'])
  expect(await findObstacle({ ipvs, ipset, scheduler: 'nosuch' }, never)).toContain('nosuch')
  expect(await ipvs.list(never)).toEqual([])
})

test('a trial that an earlier start left behind is used and removed', async () => {
  const ipvs = new MemoryIpvs()
  const left = { ...server, ip: '198.51.100.0', port: 20_000, scheduler: 'rr' }
  await ipvs.apply([{ kind: 'add-server', server: left }], never)
  expect(await findObstacle({ ipvs, ipset, scheduler: 'sh' }, never)).toBeUndefined()
  expect(await ipvs.list(never)).toEqual([])
})

test('a kernel that takes virtual servers and shows none is in the way', async () => {
  const ipvs = { list: async () => [], apply: async () => new Map() }
  expect(await findObstacle({ ipvs, ipset, scheduler: 'rr' }, never)).toContain('ipvs not supported')
})

test('a trial that cannot be removed is in the way', async () => {
  const { ipvs } = memoryKernel()
  ipvs.refuse = ({ kind }) => (kind === 'delete-server' ? 'refused' : undefined)
  expect(await findObstacle({ ipvs, ipset, scheduler: 'rr' }, never)).toContain('delete-server')
})

test('a kernel without IPVS is in the way', async () => {
  const missing = () => Promise.reject(new IpvsError('module-missing', 'load ip_vs'))
  expect(await findObstacle({ ipvs: { list: missing, apply: missing }, ipset, scheduler: 'rr' }, never)).toBe(
    'load ip_vs',
  )
})
