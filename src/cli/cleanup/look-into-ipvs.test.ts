import { describe, expect, test } from 'vitest'
import { answerDelivery } from '../../backends/userspace/portals/answer-rules.ts'
import type { Exec } from '../../dataplane/exec/exec.ts'
import { MemoryMarkedDelivery } from '../../dataplane/marked-delivery/memory-marked-delivery.ts'
import { MemoryNfacct } from '../../dataplane/nfacct/memory-nfacct.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import type { Findings, Leftover } from './leftover.ts'
import { lookIntoIpvs } from './look-into-ipvs.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import { goldenFiles, readGolden } from './testing/golden-files.ts'

const { signal } = new AbortController()

describe('all that kube-proxy made in ipvs mode is found', () => {
  for (const { scenario } of goldenFiles('ipvsadm.txt'))
    test(`for ${scenario}`, async () => {
      const { leftovers, problems } = await look(nodeOf(scenario))
      expect(problems).toEqual([])
      const servers = readGolden(scenario, 'ipvsadm.txt').match(/^-A .*$/gm) ?? []
      expect(servers.length).toBeGreaterThan(0)
      expect(leftovers.filter(({ kind }) => kind === 'virtual-server')).toHaveLength(servers.length)
      expect(names(leftovers, 'interface')).toEqual(['kube-ipvs0'])
      expect(names(leftovers, 'ipset')).toHaveLength(34)
    })
})

test('a node that never had the mode is asked for nothing that would load a module', async () => {
  const node = { ...nodeOf('node-port'), device: undefined, ipset: 'create others hash:ip family inet\n' }
  const { findings, commands } = await lookAt(node)
  expect(findings).toEqual({ leftovers: [], problems: [] })
  expect(commands.filter((command) => command.startsWith('ipvsadm'))).toEqual([])
})

test('nothing is missing where no tool is installed', async () => {
  expect(await look({})).toEqual({ leftovers: [], problems: [] })
})

test('virtual servers and sets of others stay', async () => {
  const golden = nodeOf('node-port')
  const { leftovers } = await look({
    ...golden,
    ipset: `${golden.ipset}create KUBE-MINE hash:ip family inet\ncreate others hash:ip family inet\n`,
    ipvsadm: `${golden.ipvsadm}-A -t 192.0.2.7:80 -s rr\n-A -u 10.200.0.2:30080 -s rr\n-A -f 7 -s rr\n`,
  })
  expect(leftovers.flatMap((leftover) => (leftover.kind === 'virtual-server' ? leftover.address : []))).toEqual([
    '10.96.0.1:443',
    '10.96.10.6:80',
    '10.200.0.2:30080',
  ])
  expect(names(leftovers, 'ipset')).toHaveLength(34)
})

test('a set with the name of one of ours but another kind stays', async () => {
  const { leftovers } = await look({
    ipset: 'create KUBE-CLUSTER-IP list:set size 8\ncreate KUBE-IPVS-IPS hash:ip x\n',
  })
  expect(names(leftovers, 'ipset')).toEqual(['KUBE-IPVS-IPS'])
})

test('an interface of that name which is no dummy stays, and so do the servers at its addresses', async () => {
  const { leftovers, problems } = await look({
    device: { kind: 'bridge', addresses: ['192.0.2.7'] },
    ipvsadm: '-A -t 192.0.2.7:80 -s rr\n',
  })
  expect(leftovers).toEqual([])
  expect(problems).toEqual([
    'interface kube-ipvs0 stays: it is not a dummy link but of kind "bridge", so no proxy created it',
  ])
})

test('virtual servers that only a missing tool could remove are reported', async () => {
  const { ipvsadm: _, ...node } = nodeOf('node-port')
  const { problems } = await look({ ...node, procIpvs: 'IP Virtual Server version 1.2.1\nTCP  0A600001:01BB rr\n' })
  expect(problems).toEqual([
    'the kernel has IPVS virtual servers, but ipvsadm, which removes them, is missing: install it',
  ])
  expect((await look({ ...node, procIpvs: 'IP Virtual Server version 1.2.1\n' })).problems).toEqual([])
})

test('servers are removed before the interface, and the interface before the sets', async () => {
  const { leftovers } = await look(nodeOf('sctp'))
  const { exec, commands } = scriptedExec(() => ({}))
  const { removed, problems } = await remove(leftovers, exec)
  expect(problems).toEqual([])
  expect(removed).toEqual(leftovers)
  expect(commands.slice(0, 4)).toEqual([
    'ipvsadm -D -t 10.96.0.1:443',
    'ipvsadm -D --sctp-service 10.96.10.5:2905',
    'ip link delete dev kube-ipvs0',
    expect.stringMatching(/^ipset destroy KUBE-/),
  ])
})

test('what cannot be removed is reported, and the rest goes', async () => {
  const { leftovers } = await look(nodeOf('sctp'))
  const { exec, commands } = scriptedExec((command) =>
    command.startsWith('ip ') ? { exitCode: 2, stderr: 'RTNETLINK answers: Device or resource busy\n' } : {},
  )
  const { removed, problems } = await remove(leftovers, exec)
  expect(problems).toEqual(['cannot remove interface kube-ipvs0: RTNETLINK answers: Device or resource busy'])
  expect(removed).toEqual(leftovers.filter(({ kind }) => kind !== 'interface'))
  expect(commands).toHaveLength(leftovers.length)
})

interface Node {
  readonly device?: { readonly kind: string; readonly addresses: readonly string[] } | undefined
  readonly ipset?: string
  readonly ipvsadm?: string
  readonly procIpvs?: string
}

function nodeOf(scenario: string): Node & { ipset: string; ipvsadm: string } {
  const addresses = readGolden(scenario, 'kube-ipvs0.txt')
    .trim()
    .split('\n')
    .map((cidr) => cidr.split('/')[0] ?? '')
  return {
    device: { kind: 'dummy', addresses },
    ipset: readGolden(scenario, 'ipset-save.txt'),
    ipvsadm: readGolden(scenario, 'ipvsadm.txt'),
  }
}

const host = {
  iptables: [],
  nfacct: new MemoryNfacct(),
  delivery: new MemoryMarkedDelivery(answerDelivery),
  listTables: async () => [],
  readText: () => Promise.resolve(''),
}

async function remove(
  leftovers: readonly Leftover[],
  exec: Exec,
): Promise<{ removed: Leftover[]; problems: string[] }> {
  const [removed, problems]: [Leftover[], string[]] = [[], []]
  for await (const removal of removeLeftovers(leftovers, { ...host, exec }, signal))
    if ('removed' in removal) removed.push(...removal.removed)
    else problems.push(removal.problem)
  return { removed, problems }
}

async function look(node: Node): Promise<Findings> {
  return (await lookAt(node)).findings
}

/** A node whose tools print what is given, and lacks the others. */
async function lookAt(node: Node): Promise<{ findings: Findings; commands: readonly string[] }> {
  const { exec, commands } = scriptedExec((command) => {
    const text = { ip: shown(node), ipset: node.ipset, ipvsadm: node.ipvsadm }[command.split(' ')[0] ?? '']
    return text === undefined ? undefined : { stdout: text }
  })
  const readText = () => Promise.resolve(node.procIpvs ?? '')
  return { findings: await lookIntoIpvs({ ...host, exec, readText }, [], signal), commands }
}

/** What `ip -json -details address show` prints, as far as it matters. */
function shown({ device }: Node): string | undefined {
  if (device === undefined) return undefined
  const addresses = device.addresses.map((local) => ({ family: local.includes(':') ? 'inet6' : 'inet', local }))
  return JSON.stringify([{ ifname: 'kube-ipvs0', linkinfo: { info_kind: device.kind }, addr_info: addresses }])
}

function names(leftovers: readonly Leftover[], kind: 'interface' | 'ipset'): readonly string[] {
  return leftovers.flatMap((leftover) => (leftover.kind === kind ? leftover.name : []))
}
