import { describe, expect, test } from 'vitest'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { openDatagrams } from '../netlink/open-netlink.ts'
import { findIptables } from './find-iptables.ts'
import { table } from './iptables.contract.ts'
import type { ChainPath, Iptables, Variant } from './iptables.ts'
import { MemoryIptables } from './memory-iptables.ts'
import { chainChangesFromTokens, openChainChanges } from './chain-changes.ts'
import { inNamespace } from './testing/in-namespace.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'
import type { NetworkNamespace } from './testing/network-namespace.ts'

const never = new AbortController().signal
const tables = ['filter', 'nat'] as const
const rules =
  table('nat', ':A - [0:0]', ':B - [0:0]', '-A A -j B', '-A OUTPUT -j A', '-A B -i eth0 -j RETURN') +
  table('filter', ':COUNTED - [0:0]', '-A OUTPUT -j COUNTED', '-A COUNTED -j ACCEPT')

/** Fails if another way than the one under test is used, which is logged as a warning. */
const strictLog = { ...silentLogger, warn: (message: string) => expect.fail(message) }

async function realIptables(namespace: NetworkNamespace, family: Family, variant: Variant): Promise<Iptables> {
  return findIptables({ family, variant, exec: namespace.exec, clock: systemClock, log: silentLogger, signal: never })
}

async function listening(family: Family, variant: Variant) {
  let nowMs = 0
  const clock: Clock = { ...systemClock, monotonic: () => nowMs }
  const namespace = await createNamespace()
  const iptables = await realIptables(namespace, family, variant)
  await iptables.restore(rules, never)
  const options = { iptables, tables, openDatagrams, clock, log: strictLog }
  const changes = await inNamespace(namespace.path, () => openChainChanges(options, never))
  const end = async () => {
    await changes[Symbol.asyncDispose]()
    await namespace[Symbol.asyncDispose]()
  }
  /** So much later that the bytes of legacy tables are read even if their sizes are the same. */
  const takeLater = () => {
    nowMs += 3_600_000
    return changes.take(never)
  }
  return { namespace, iptables, changes, takeLater, [Symbol.asyncDispose]: end }
}

for (const variant of ['nf_tables', 'legacy'] as const)
  for (const family of families) {
    const suffix = variant === 'legacy' ? 'legacy' : 'nft'
    const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${suffix}`
    const missing = missingForRealTools([`iptables-${suffix}`, `ip6tables-${suffix}`])
    describe.skipIf(missing !== undefined)(`${tool} ${missing ?? 'is here'}`, () => {
      const harm: readonly (readonly [what: string, input: string, touched: readonly ChainPath[]])[] = [
        ['a flushed chain', table('nat', '-F B'), ['nat/B']],
        ['a deleted jump', table('nat', '-D OUTPUT -j A'), ['nat/OUTPUT']],
        ['a rule added on top', table('nat', '-I A -j RETURN'), ['nat/A']],
        ['a new chain', table('filter', ':NEW - [0:0]'), ['filter/NEW']],
        ['a chain that moves the others', table('nat', ':AA - [0:0]', '-A AA -j RETURN'), ['nat/AA']],
        ['a rule in the place of an equally long one', table('nat', '-R B 1 -i eth1 -j RETURN'), ['nat/B']],
        ['a jump that leads elsewhere', table('nat', ':C - [0:0]', '-R OUTPUT 1 -j B'), ['nat/C', 'nat/OUTPUT']],
        ['a deleted chain', table('nat', '-F A', '-F B', '-X B'), ['nat/A', 'nat/B']],
      ]
      test.each(harm)('%s is told with its name', async (_what, input, touched) => {
        await using site = await listening(family, variant)
        expect(await site.takeLater()).toEqual(new Set())
        await site.iptables.restore(input, never)
        expect(await site.takeLater()).toEqual(new Set(touched))
        expect(await site.takeLater()).toEqual(new Set())
      })

      test('changes to other tables and to the other family are left out', async () => {
        await using site = await listening(family, variant)
        const { namespace, iptables, takeLater } = site
        const other = await realIptables(namespace, family === 'ipv4' ? 'ipv6' : 'ipv4', variant)
        await other.restore(rules, never)
        await iptables.restore(table('mangle', ':A - [0:0]', '-A A -j RETURN'), never)
        expect(await takeLater()).toEqual(new Set())
      })

      test('packets that rules count are no change', async () => {
        await using site = await listening(family, variant)
        const { namespace, takeLater } = site
        const loopback = family === 'ipv4' ? '127.0.0.1' : '::1'
        const send = `ip link set lo up; echo hello > /dev/udp/${loopback}/9; true`
        await namespace.exec('bash', ['-c', send], { signal: never })
        expect(await takeLater()).toEqual(new Set())
      })

      test('after a write of our own, only changes to other chains are named', async () => {
        await using site = await listening(family, variant)
        const { iptables, changes } = site
        await iptables.restore(table('nat', '-I A -j RETURN'), never)
        expect(await changes.takeAfterOwnWrite(new Set(['nat/A']), never)).toEqual(new Set())
        await iptables.restore(table('nat', '-I B -j RETURN'), never)
        expect(await changes.take(never)).toEqual(new Set(['nat/B']))
      })

      test('who does not want to listen for a while must look at everything afterwards', async () => {
        await using site = await listening(family, variant)
        const { iptables, changes } = site
        await changes.withoutListening(() => iptables.restore(table('nat', '-F B'), never))
        expect(await changes.take(never)).toBe('any')
        await iptables.restore(table('nat', '-F A'), never)
        expect(await changes.take(never)).toEqual(new Set(['nat/A']))
      })
    })
  }

const missingNft = missingForRealTools(['iptables-nft', 'nft'])
describe.skipIf(missingNft !== undefined)(`nf_tables ${missingNft ?? 'is here'}`, () => {
  test('a table that is deleted may have held anything', async () => {
    await using site = await listening('ipv4', 'nf_tables')
    const { namespace, changes } = site
    await namespace.exec('nft', ['delete', 'table', 'ip', 'nat'], { signal: never })
    expect(await changes.take(never)).toBe('any')
    expect(await changes.take(never)).toEqual(new Set())
  })

  test('more events than the socket holds are not taken for none', async () => {
    await using site = await listening('ipv4', 'nf_tables')
    const { iptables, changes } = site
    const many = Array.from({ length: 1500 }, () => '-A A -m comment --comment "one of many" -j RETURN')
    // More than the 16 MB of the socket's buffer, which is not read meanwhile.
    for (let n = 0; n < 40; n++) await iptables.restore(table('nat', ':A - [0:0]', ...many), never)
    expect(await changes.take(never)).toBe('any')
    await iptables.restore(table('nat', '-F B'), never)
    expect(await changes.take(never)).toEqual(new Set(['nat/B']))
  })
})

const missingLegacy = missingForRealTools(['iptables-legacy'])
test.skipIf(missingLegacy !== undefined)(
  `legacy tables of the same size are not read again at once ${missingLegacy ?? ''}`,
  async () => {
    await using site = await listening('ipv4', 'legacy')
    const { iptables, changes, takeLater } = site
    await iptables.restore(table('nat', '-R B 1 -i eth1 -j RETURN'), never)
    expect(await changes.take(never)).toEqual(new Set())
    expect(await takeLater()).toEqual(new Set(['nat/B']))
  },
)

test('where nobody can listen, the log says so and the kernel is asked instead', async () => {
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const refuse = () => Promise.reject(new Error('not on this machine'))
  const iptables = new MemoryIptables({ family: 'ipv4' })
  const options = { iptables, tables, openDatagrams: refuse, loadLibc: refuse, clock: systemClock, log }
  await using changes = await openChainChanges(options, never)
  expect(warnings).toHaveLength(2)
  await changes.take(never)
  await iptables.ensureChain('nat', 'NEW', never)
  expect(await changes.take(never)).toBe('any')
})

test('the first token means that any chain may have changed', async () => {
  const detector = { isCheap: true, token: () => Promise.resolve('the same'), async [Symbol.asyncDispose]() {} }
  await using changes = chainChangesFromTokens(detector)
  expect(await changes.take(never)).toBe('any')
  expect(await changes.take(never)).toEqual(new Set())
})
