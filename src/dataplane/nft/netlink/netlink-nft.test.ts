/** What netlink must do beyond the contract: be indistinguishable from nft, and cope with size. */
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import type { Family } from '../../../net/ip.ts'
import { families } from '../../../net/ip.ts'
import type { Exec } from '../../exec/exec.ts'
import { processExec } from '../../exec/exec.ts'
import { openDatagrams } from '../../netlink/open-netlink.ts'
import type { OpenDatagrams } from '../../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../../netlink/testing/network-namespace.ts'
import { CommandNftTable } from '../command/command-nft.ts'
import { NftTables } from '../nft-tables.ts'
import type { NftOperation, NftTable } from '../nft.ts'
import { renderRule } from '../render-rule.ts'
import { commentedRule, rule } from '../rule.ts'
import type { Statement } from '../rule.ts'
import { sampleTable } from '../testing/sample-table.ts'
import { sendDatagram } from '../testing/send-datagram.ts'

const { signal } = new AbortController()

interface OpenOptions {
  readonly exec?: Exec
  readonly open?: OpenDatagrams
}

async function openTable(family: Family, { exec = processExec, open = openDatagrams }: OpenOptions = {}) {
  enterFreshNamespace()
  return new NftTables({ exec, openDatagrams: open }).open(family, silentLogger, signal)
}

async function filledTable(family: Family, options?: OpenOptions): Promise<NftTable> {
  const table = await openTable(family, options)
  await table.commit(sampleTable(family).setUp, signal)
  return table
}

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  for (const family of families)
    test(`what netlink writes looks to nft as if nft had written it, ${family}`, async () => {
      const changes = manyKinds(family)
      await using byNetlink = await filledTable(family)
      await byNetlink.commit(changes, signal)
      const netlinkListing = listing(family)
      enterFreshNamespace()
      await using byCommand = new CommandNftTable({ family, exec: processExec, hasObjectComments: true })
      await byCommand.commit(sampleTable(family).setUp, signal)
      await byCommand.commit(changes, signal)
      expect(netlinkListing).toEqual(listing(family))
      expect(netlinkListing.join('\n')).toContain('comment "demo/web:http" : goto pick-2')
    })

  for (const family of families)
    test(`a chain that picks an endpoint is to nft as if nft had made it, ${family}`, async () => {
      await using table = await filledTable(family)
      const ip = family === 'ipv4' ? 'ip' : 'ip6'
      const picking = (choices: number): Statement => ({
        kind: 'dnat by map',
        fields: ['destination', 'protocol', 'port'],
        choices,
        by: 'chance',
        map: 'endpoints',
      })
      const pick = (choices: number) =>
        `dnat ${ip} to ${ip} daddr . meta l4proto . th dport . numgen random mod ${choices} map @endpoints`
      await table.commit(
        [
          { do: 'add chain', chain: { name: 'two', comment: 'one of two' } },
          { do: 'add rule', chain: 'two', rule: rule(picking(2)) },
          { do: 'add rule', chain: 'two', rule: commentedRule('the first', picking(1)) },
        ],
        signal,
      )
      const printed = (chain: string) => run(`nft list chain ${ip} fairlead ${chain}`)
      expect(printed('two')).toContain(
        `{\n\t\tcomment "one of two"\n\t\t${pick(2)}\n\t\t${pick(1)} comment "the first"\n\t}`,
      )
      // nft made this one.
      const byteCode = (chain: string) =>
        run(`nft --debug=netlink list chain ${ip} fairlead ${chain} | grep '\\[' | head -6`)
      expect(byteCode('two')).toBe(byteCode('pick-2'))
      expect(byteCode('two')).toContain('numgen')
    })

  for (const family of families)
    test(`so is one that goes by turn or by a hash of the client, also at node ports, ${family}`, async () => {
      await using table = await filledTable(family)
      const ip = family === 'ipv4' ? 'ip' : 'ip6'
      const { endpoints } = sampleTable(family)
      const [address, ...nodePort] = endpoints.key
      const atNodePorts = { ...endpoints, name: 'nodeport-endpoints', key: nodePort }
      expect(address).toContain('_addr')
      await table.commit([{ do: 'add set', set: atNodePorts }], signal)
      const fields = ['destination', 'protocol', 'port'] as const
      const picks = (['turn', 'source', 'flow'] as const).flatMap((by) => [
        rule({ kind: 'dnat by map', fields, choices: 16_381, by, map: endpoints.name }),
        rule({ kind: 'dnat by map', fields: ['protocol', 'port'], choices: 16_381, by, map: atNodePorts.name }),
      ])
      await table.commit(
        picks.map((it): NftOperation => ({ do: 'add rule', chain: 'spare', rule: it })),
        signal,
      )
      const printed = run(`nft list chain ${ip} fairlead spare`)
      const lines = picks.map((it) => renderRule(it, family))
      expect(printed.match(/dnat .*/g)).toEqual(lines)
    })

  test('elements go to the kernel without nft', async () => {
    let runs = 0
    const exec: Exec = (...args) => {
      runs++
      return processExec(...args)
    }
    await using table = await filledTable('ipv4', { exec })
    const before = runs
    await table.commit(manyKinds('ipv4'), signal)
    await table.check([{ do: 'delete chain', name: 'pick-2' }], signal).catch(() => {})
    await table.list(signal)
    await table.elements(sampleTable('ipv4').services, signal)
    expect(runs).toBe(before)
  })

  test('every element that is wrong is named, up to a number that can be read', async () => {
    const { services, clusterIps, ip } = sampleTable('ipv4')
    await using table = await filledTable('ipv4')
    const elements = Array.from({ length: 100 }, (_, n) => ({
      key: `${ip(n)} . tcp . 80`,
      value: n % 40 === 10 ? 'goto nowhere' : 'goto pick-2',
    }))
    await expect(table.commit([{ do: 'add elements', set: services, elements }], signal)).rejects.toMatchObject({
      reason: 'missing',
      message:
        'cannot change the table ip fairlead: "add element of services" with "10.0.0.10 . tcp . 80": ENOENT; ' +
        'also "add element of services" with "10.0.0.50 . tcp . 80": ENOENT; ' +
        '"add element of services" with "10.0.0.90 . tcp . 80": ENOENT',
    })
    const keys = Array.from({ length: 9 }, (_, n) => ip(n))
    await expect(table.commit([{ do: 'delete elements', set: clusterIps, keys }], signal)).rejects.toThrow(/; 4 more$/)
  })

  test('an element that is wrong is named also among thousands', async () => {
    const { services, ip } = sampleTable('ipv4')
    await using table = await filledTable('ipv4')
    const elements = Array.from({ length: 5000 }, (_, n) => ({
      key: `${ip(n)} . tcp . 80`,
      value: n === 4321 ? 'goto nowhere' : 'drop',
    }))
    await expect(table.commit([{ do: 'add elements', set: services, elements }], signal)).rejects.toThrow(
      `with "${ip(4321)} . tcp . 80": ENOENT`,
    )
    expect(await table.elements(services, signal)).toEqual(new Map())
  })

  test('a transaction may be far larger than the send buffer of a socket', async () => {
    const { services } = sampleTable('ipv6')
    const chain = { name: `long/${'x'.repeat(250)}`, comment: '' }
    await using table = await filledTable('ipv6')
    await table.commit([{ do: 'add chain', chain }], signal)
    // Together more than the 32 MB that our sockets have from the start.
    const elements = Array.from({ length: 75_000 }, (_, n) => ({
      key: `fd00::${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)} . tcp . 80`,
      value: `goto ${chain.name}`,
      comment: 'x'.repeat(128),
    }))
    await table.commit([{ do: 'add elements', set: services, elements }], signal)
    // They were all there, or else this would be refused.
    await table.commit([{ do: 'delete elements', set: services, keys: elements.map(({ key }) => key) }], signal)
    expect(await table.elements(services, signal)).toEqual(new Map())
  })

  test('a listing that others interrupt is taken again', async () => {
    const { clusterIps } = sampleTable('ipv4')
    const theirs = Array.from({ length: 50 }, (_, n) => `10.99.99.${n}`)
    let dumps = 0
    const open: OpenDatagrams = async (protocol) => {
      const datagrams = await openDatagrams(protocol)
      const receive = async () => {
        const datagram = await datagrams.receive()
        // In the middle of the first listing. Some of these are hashed to where it has been already.
        if (datagram !== undefined && datagram.readUInt16LE(4) === 0xa0c && ++dumps === 8)
          run(`nft add element ip fairlead cluster-ips { ${theirs.join(', ')} }`)
        return datagram
      }
      return { ...datagrams, receive }
    }
    await using table = await filledTable('ipv4', { open })
    const elements = Array.from({ length: 20_000 }, (_, n) => ({ key: `10.1.${n >> 8}.${n & 255}` }))
    await table.commit([{ do: 'add elements', set: clusterIps, elements }], signal)
    const found = await table.elements(clusterIps, signal)
    expect(theirs.filter((key) => !found.has(key))).toEqual([])
    expect(found.size).toBe(20_050)
  })

  test('after its socket broke, the next change has a new one', async () => {
    let isBreaking = false
    const open: OpenDatagrams = async (protocol) => {
      const datagrams = await openDatagrams(protocol)
      const receive = async () => {
        if (!isBreaking) return datagrams.receive()
        isBreaking = false
        throw Object.assign(new Error('broken'), { errno: -5 })
      }
      return { ...datagrams, receive }
    }
    const { clusterIps, ip } = sampleTable('ipv4')
    await using table = await filledTable('ipv4', { open })
    await table.commit([{ do: 'add elements', set: clusterIps, elements: [{ key: ip(1) }] }], signal)
    isBreaking = true
    await expect(
      table.commit([{ do: 'add elements', set: clusterIps, elements: [{ key: ip(2) }] }], signal),
    ).rejects.toMatchObject({ name: 'NftError', reason: 'failed', message: expect.stringContaining('EIO') })
    await table.commit([{ do: 'add elements', set: clusterIps, elements: [{ key: ip(3) }] }], signal)
    expect((await table.elements(clusterIps, signal)).has(ip(3))).toBe(true)
    expect(await table.foreignChange(signal)).toEqual({ kind: 'none' })
  })

  test('counters count packets', async () => {
    const { services } = sampleTable('ipv4')
    await using table = await filledTable('ipv4')
    const hook = { type: 'filter', hook: 'output', priority: 0 } as const
    await table.commit(
      [
        { do: 'add chain', chain: { name: 'watch', hook, comment: '' } },
        {
          do: 'add rule',
          chain: 'watch',
          rule: rule({ kind: 'look up verdict', fields: ['destination', 'protocol', 'port'], map: 'services' }),
        },
      ],
      signal,
    )
    const key = '127.0.0.1 . udp . 9'
    await table.commit([{ do: 'add elements', set: services, elements: [{ key, value: 'accept' }] }], signal)
    for (let n = 0; n < 3; n++) await sendDatagram()
    const byCommand = new CommandNftTable({ family: 'ipv4', exec: processExec, hasObjectComments: true })
    for (const reader of [table, byCommand])
      expect((await reader.elements(services, signal)).get(key)).toEqual({ value: 'accept', packets: 3 })
  })

  test('nft names protocols by number where /etc/protocols is missing, and we do not mind', async () => {
    enterFreshNamespace()
    const hidden = 'mount --bind /dev/null /etc/protocols && exec "$@"'
    const exec: Exec = (program, args, options) =>
      processExec('unshare', ['--mount', 'sh', '-c', hidden, 'sh', program, ...args], options)
    await using table = new CommandNftTable({ family: 'ipv4', exec, hasObjectComments: true })
    const { setUp, nodePorts } = sampleTable('ipv4')
    const elements = ['tcp', 'udp', 'sctp'].map((protocol) => ({ key: `${protocol} . 30000`, value: 'drop' }))
    await table.commit([...setUp, { do: 'add elements', set: nodePorts, elements }], signal)
    const { stdout } = await exec('nft', ['list', 'map', 'ip', 'fairlead', 'nodeports'], { signal })
    expect(stdout).toContain('17 . 30000')
    expect([...(await table.elements(nodePorts, signal)).keys()].sort()).toEqual([
      'sctp . 30000',
      'tcp . 30000',
      'udp . 30000',
    ])
  })
})

function manyKinds(family: Family): NftOperation[] {
  const { ip, services, endpoints, nodePorts, ranges, cidrs, clusterIps, affinity } = sampleTable(family)
  const bits = family === 'ipv4' ? 32 : 128
  return [
    {
      do: 'add elements',
      set: services,
      elements: [
        { key: `${ip(1)} . tcp . 80`, value: 'goto pick-2', comment: 'demo/web:http' },
        { key: `${ip(2)} . udp . 53`, value: 'jump spare', comment: `demo/"quoted" ${'long '.repeat(40)}` },
        { key: `${ip(3)} . sctp . 1`, value: 'drop' },
        { key: `${ip(4)} . tcp . 2`, value: 'return' },
      ],
    },
    {
      do: 'add elements',
      set: endpoints,
      elements: [0, 1, 300].map((n) => ({ key: `${ip(1)} . tcp . 80 . ${n}`, value: `${ip(1000 + n)} . 8080` })),
    },
    { do: 'add elements', set: nodePorts, elements: [{ key: 'tcp . 30080', value: 'accept', comment: 'demo/web' }] },
    {
      do: 'add elements',
      set: ranges,
      elements: [
        { key: `${ip(1)} . tcp . 80 . ${ip(0)}/${bits - 8}`, comment: 'a range' },
        { key: `${ip(1)} . tcp . 80 . ${ip(512)}/${bits - 3}` },
        { key: `${ip(1)} . tcp . 80 . ${ip(700)}` },
        { key: `${ip(2)} . tcp . 80 . ${family === 'ipv4' ? '0.0.0.0/0' : '::/0'}` },
      ],
    },
    { do: 'add elements', set: clusterIps, elements: [1, 2, 3, 4].map((n) => ({ key: ip(n) })) },
    { do: 'delete elements', set: clusterIps, keys: [ip(3)] },
    {
      do: 'add elements',
      set: cidrs,
      elements: [
        { key: `${ip(0)}/${bits - 8}`, comment: 'the first' },
        { key: `${ip(256)}/${bits - 8}` },
        { key: ip(700) },
        { key: family === 'ipv4' ? '255.0.0.0/8' : 'ff00::/8' },
      ],
    },
    { do: 'delete elements', set: cidrs, keys: [ip(700)] },
    { do: 'delete elements', set: ranges, keys: [`${ip(1)} . tcp . 80 . ${ip(700)}`] },
    { do: 'delete set', set: affinity },
    { do: 'flush chain', name: 'pick-2' },
  ]
}

/** What nft prints of the table, without the order of elements, which is that of a hash table. */
function listing(family: Family): string[] {
  const printed = run(`nft list table ${family === 'ipv4' ? 'ip' : 'ip6'} fairlead`)
  return printed
    .replace(/\s+/g, ' ')
    .split(/, | \{ | \} /)
    .sort()
}
