import { describe, expect, test } from 'vitest'
import { removeLeftovers } from '../../cli/cleanup/remove-leftovers.ts'
import { goldenFiles, readGolden } from '../../cli/cleanup/testing/golden-files.ts'
import type { Findings } from '../../core/leftover.ts'
import { AddressError } from '../../dataplane/addresses/addresses.ts'
import { MemoryAddresses } from '../../dataplane/addresses/memory-addresses.ts'
import { commandIpset } from '../../dataplane/ipset/command-ipset.ts'
import type { IpSet } from '../../dataplane/ipset/ipset.ts'
import { MemoryIpset } from '../../dataplane/ipset/memory-ipset.ts'
import { parseSaved } from '../../dataplane/ipset/ipset-text.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import { commandIpvs } from '../../dataplane/ipvs/command-ipvs.ts'
import { MemoryIpvs } from '../../dataplane/ipvs/memory-ipvs.ts'
import { parseRealServerTable } from '../../dataplane/ipvs/real-server-table.ts'
import { findLeftovers } from './leftovers.ts'
import type { IpvsDoors } from './leftovers.ts'

const { signal } = new AbortController()

describe('all that kube-proxy made in ipvs mode is found', () => {
  for (const { scenario } of goldenFiles('ipvsadm.txt'))
    test(`for ${scenario}`, async () => {
      const { removals, problems } = await findLeftovers(doors(await nodeOf(scenario)), signal)
      expect(problems).toEqual([])
      const servers = readGolden(scenario, 'ipvsadm.txt').match(/^-A .*$/gm) ?? []
      expect(servers.length).toBeGreaterThan(0)
      const found = lines({ removals, problems })
      expect(found.filter((what) => what.startsWith('ipvs: virtual server '))).toHaveLength(servers.length)
      expect(found.filter((what) => what.startsWith('interface '))).toEqual(['interface kube-ipvs0'])
      expect(found.filter((what) => what.startsWith('ipset '))).toHaveLength(34)
    })
})

test('a node that never had the mode is asked for nothing that would load a module', async () => {
  const ipset = new MemoryIpset()
  await ipset.ensure([{ name: 'others', type: 'hash:ip', family: 'ipv4' }], signal)
  const openIpvs = () => Promise.reject(new Error('IPVS was asked for'))
  expect(await findLeftovers(doors({ ipset, openIpvs }), signal)).toEqual({ removals: [], problems: [] })
})

test('nothing is missing where no tool is installed', async () => {
  const { exec } = scriptedExec(() => undefined)
  expect(await findLeftovers(doors({ ipset: commandIpset(exec) }), signal)).toEqual({ removals: [], problems: [] })
})

test('virtual servers and sets of others stay', async () => {
  const node = await nodeOf('node-port')
  await node.ipset.ensure([{ name: 'KUBE-MINE', type: 'hash:ip', family: 'ipv4' }], signal)
  await addServers(node.ipvs, '-A -t 192.0.2.7:80 -s rr\n-A -u 10.200.0.2:30080 -s rr\n')
  const found = lines(await findLeftovers(doors(node), signal))
  expect(found.filter((what) => what.startsWith('ipvs: '))).toEqual([
    'ipvs: virtual server tcp 10.96.0.1:443',
    'ipvs: virtual server tcp 10.96.10.6:80',
    'ipvs: virtual server tcp 10.200.0.2:30080',
  ])
  expect(found.filter((what) => what.startsWith('ipset '))).toHaveLength(34)
})

test('virtual servers are in the order of family, protocol, address and port', async () => {
  const node = await nodeOf('node-port')
  await node.addresses.add('kube-ipvs0', ['fd00::1', '10.96.9.1'], signal)
  await addServers(
    node.ipvs,
    ['-t [fd00::1]:80', '-u 10.96.9.1:53', '--sctp-service 10.96.9.1:9', '-t 10.96.9.1:443', '-t 10.96.9.1:80']
      .map((server) => `-A ${server} -s rr\n`)
      .join(''),
  )
  const found = lines(await findLeftovers(doors(node), signal)).filter((what) => / (10.96.9.1|\[fd00::1\]):/.test(what))
  expect(found.map((what) => what.replace('ipvs: virtual server ', ''))).toEqual([
    'tcp 10.96.9.1:80',
    'tcp 10.96.9.1:443',
    'udp 10.96.9.1:53',
    'sctp 10.96.9.1:9',
    'tcp [fd00::1]:80',
  ])
})

test('a set with the name of one of ours but another kind stays', async () => {
  const ipset = new MemoryIpset()
  const sets = ['KUBE-CLUSTER-IP', 'KUBE-IPVS-IPS'].map((name) => ({ name, type: 'hash:ip', family: 'ipv4' }) as const)
  await ipset.ensure(sets, signal)
  expect(lines(await findLeftovers(doors({ ipset }), signal))).toEqual(['ipset KUBE-IPVS-IPS'])
})

test('a set that a rule of others asks stays', async () => {
  const ipset = new MemoryIpset()
  await ipset.ensure([{ name: 'KUBE-IPVS-IPS', type: 'hash:ip', family: 'ipv4' }], signal)
  const rule = '-A INPUT -m set --match-set KUBE-IPVS-IPS dst -j DROP'
  expect(await findLeftovers(doors({ ipset, foreignRules: [rule] }), signal)).toEqual({
    removals: [],
    problems: [`ipset KUBE-IPVS-IPS stays because a foreign rule uses it: "${rule}"`],
  })
})

test('an interface of that name which is no dummy stays, and so do the servers at its addresses', async () => {
  const [addresses, ipvs] = [new MemoryAddresses(), new MemoryIpvs()]
  addresses.addLink('kube-ipvs0', { ip: '192.0.2.7', prefixLength: 24 })
  await addServers(ipvs, '-A -t 192.0.2.7:80 -s rr\n')
  expect(await findLeftovers(doors({ links: addresses, openIpvs: async () => ipvs }), signal)).toEqual({
    removals: [],
    problems: ['interface kube-ipvs0 stays: it is not a dummy link but of kind "veth", so no proxy created it'],
  })
})

test('virtual servers that only a missing tool could remove are reported', async () => {
  const node = await nodeOf('node-port')
  const { exec } = scriptedExec(() => undefined)
  const problemsWith = async (table: string) => {
    const missing = { openIpvs: async () => commandIpvs(exec), readServerTable: () => parseRealServerTable(table) }
    return (await findLeftovers({ ...doors(node), ...missing }, signal)).problems
  }
  expect(await problemsWith('IP Virtual Server version 1.2.1\nTCP  0A600001:01BB rr\n')).toEqual([
    'the kernel has IPVS virtual servers, but ipvsadm, which removes them, is missing: install it',
  ])
  expect(await problemsWith('IP Virtual Server version 1.2.1\n')).toEqual([])
})

test('servers are removed before the interface, and the interface before the sets; then nothing is left', async () => {
  const node = await nodeOf('sctp')
  const { removed, problems } = await remove(await findLeftovers(doors(node), signal))
  expect(problems).toEqual([])
  expect(removed.slice(0, 4)).toEqual([
    'ipvs: virtual server tcp 10.96.0.1:443',
    'ipvs: virtual server sctp 10.96.10.5:2905',
    'interface kube-ipvs0',
    expect.stringMatching(/^ipset KUBE-/),
  ])
  expect(await findLeftovers(doors(node), signal)).toEqual({ removals: [], problems: [] })
  expect(await node.ipvs.list(signal)).toEqual([])
})

test('what cannot be removed is reported, and the rest goes', async () => {
  const node = await nodeOf('sctp')
  const found = await findLeftovers(doors(node), signal)
  const busy = new AddressError('refused', 'cannot remove the link kube-ipvs0: Device or resource busy')
  node.addresses.removeDummy = () => Promise.reject(busy)
  const { removed, problems } = await remove(found)
  expect(problems).toEqual([busy.message])
  expect(removed).toEqual(lines(found).filter((what) => what !== 'interface kube-ipvs0'))
})

interface Node {
  readonly addresses: MemoryAddresses
  readonly ipset: MemoryIpset
  readonly ipvs: MemoryIpvs
}

/** As kube-proxy left it. */
async function nodeOf(scenario: string): Promise<Node> {
  const [addresses, ipset, ipvs] = [new MemoryAddresses(), new MemoryIpset(), new MemoryIpvs()]
  await addresses.ensureDummy('kube-ipvs0', signal)
  const ips = Array.from(readGolden(scenario, 'kube-ipvs0.txt').matchAll(/^(.+)\//gm), ([, ip = '']) => ip)
  await addresses.add('kube-ipvs0', ips, signal)
  // They are sorted by name, and sets must be made before they are filled.
  const saved = await parseSaved(readGolden(scenario, 'ipset-save.txt').split('\n').toSorted().toReversed().join('\n'))
  await ipset.ensure(saved as readonly IpSet[], signal)
  const changes = saved.flatMap(({ name, entries }) => Array.from(entries, (entry) => ({ set: name, entry })))
  const errors = await ipset.apply(
    changes.map((change) => ({ kind: 'add', ...change })),
    signal,
  )
  expect(errors.size).toBe(0)
  await addServers(ipvs, readGolden(scenario, 'ipvsadm.txt'))
  return { addresses, ipset, ipvs }
}

const protocols: Readonly<Record<string, 'TCP' | 'UDP' | 'SCTP'>> = {
  '-t': 'TCP',
  '-u': 'UDP',
  '--sctp-service': 'SCTP',
}

/** Of what `ipvsadm --save --numeric` prints. */
async function addServers(ipvs: MemoryIpvs, saved: string): Promise<void> {
  for (const [, flag = '', ip = '', port] of saved.matchAll(/^-A (\S+) \[?(\S+?)\]?:(\d+) /gm)) {
    const address = { ip, port: Number(port), protocol: protocols[flag] ?? 'TCP' }
    const server = { ...address, scheduler: 'rr', flags: 0, timeoutSeconds: 0 }
    expect((await ipvs.apply([{ kind: 'add-server', server }], signal)).size).toBe(0)
  }
}

function doors(node: Partial<IpvsDoors & Omit<Node, 'ipset'>>): IpvsDoors {
  return {
    links: node.addresses ?? new MemoryAddresses(),
    openIpvs: async () => node.ipvs ?? new MemoryIpvs(),
    readServerTable: async () => undefined,
    foreignRules: [],
    ...node,
    ipset: node.ipset ?? new MemoryIpset(),
  }
}

function lines({ removals }: Findings): readonly string[] {
  return removals.flatMap(({ leftovers }) => leftovers.map(({ what }) => what))
}

async function remove({ removals }: Findings): Promise<{ removed: string[]; problems: string[] }> {
  const [removed, problems]: [string[], string[]] = [[], []]
  for await (const outcome of removeLeftovers(removals, signal))
    if ('removed' in outcome) removed.push(...outcome.removed.map(({ what }) => what))
    else problems.push(outcome.problem)
  return { removed, problems }
}
