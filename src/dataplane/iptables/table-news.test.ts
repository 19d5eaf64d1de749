import { describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { openDatagrams } from '../netlink/open-netlink.ts'
import { findIptables } from './find-iptables.ts'
import { table } from './iptables.contract.ts'
import type { ChainPath, Iptables, Variant } from './iptables.ts'
import { MemoryIptables } from './memory-iptables.ts'
import { newsFromTokens, openTableNews } from './table-news.ts'
import { inNamespace } from './testing/in-namespace.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'
import type { NetworkNamespace } from './testing/network-namespace.ts'

const never = new AbortController().signal
const tables = ['filter', 'nat'] as const
const rules = table('nat', ':A - [0:0]', ':B - [0:0]', '-A A -j B', '-A OUTPUT -j A', '-A B -i eth0 -j RETURN')

/** Unlike the log of a daemon, it does not let another way pass for the one that is tested. */
const strictLog = { ...silentLogger, warn: (message: string) => expect.fail(message) }

async function realIptables(namespace: NetworkNamespace, family: Family, variant: Variant): Promise<Iptables> {
  return findIptables({ family, variant, exec: namespace.exec, clock: systemClock, log: silentLogger, signal: never })
}

for (const family of families) {
  const tool = family === 'ipv4' ? 'iptables-nft' : 'ip6tables-nft'
  const missing = missingForRealTools(['iptables-nft', 'ip6tables-nft', 'nft'])
  describe.skipIf(missing !== undefined)(`${tool} ${missing ?? 'is here'}`, () => {
    const listening = async () => {
      const namespace = await createNamespace()
      const iptables = await realIptables(namespace, family, 'nf_tables')
      await iptables.restore(rules, never)
      const options = { iptables, tables, openDatagrams, log: strictLog }
      const news = await inNamespace(namespace.path, () => openTableNews(options, never))
      const end = async () => {
        await news[Symbol.asyncDispose]()
        await namespace[Symbol.asyncDispose]()
      }
      return { namespace, iptables, news, [Symbol.asyncDispose]: end }
    }

    const harm: readonly (readonly [what: string, input: string, touched: readonly ChainPath[]])[] = [
      ['a flushed chain', table('nat', '-F B'), ['nat/B']],
      ['a deleted jump', table('nat', '-D OUTPUT -j A'), ['nat/OUTPUT']],
      ['a rule added on top', table('nat', '-I A -j RETURN'), ['nat/A']],
      ['a new chain', table('filter', ':NEW - [0:0]'), ['filter/NEW']],
      ['a rule in the place of an equally long one', table('nat', '-R B 1 -i eth1 -j RETURN'), ['nat/B']],
      ['a deleted chain', table('nat', '-F A', '-F B', '-X B'), ['nat/A', 'nat/B']],
    ]
    test.each(harm)('%s is told with its name', async (_what, input, touched) => {
      await using site = await listening()
      expect(await site.news.take(never)).toEqual(new Set())
      await site.iptables.restore(input, never)
      expect(await site.news.take(never)).toEqual(new Set(touched))
      expect(await site.news.take(never)).toEqual(new Set())
    })

    test('what happens to other tables and to the other family is no news', async () => {
      await using site = await listening()
      const { namespace, iptables, news } = site
      const other = await realIptables(namespace, family === 'ipv4' ? 'ipv6' : 'ipv4', 'nf_tables')
      await other.restore(rules, never)
      await iptables.restore(table('mangle', ':A - [0:0]', '-A A -j RETURN'), never)
      expect(await news.take(never)).toEqual(new Set())
    })

    test('of a write of our own only that is news which it does not explain', async () => {
      await using site = await listening()
      await site.iptables.restore(table('nat', '-I A -j RETURN', '-I B -j RETURN'), never)
      expect(await site.news.takeAfterOwn(new Set(['nat/A']), never)).toEqual(new Set(['nat/B']))
    })

    test('a table that is deleted may have held anything', async () => {
      await using site = await listening()
      const { namespace, news } = site
      await namespace.exec('nft', ['delete', 'table', family === 'ipv4' ? 'ip' : 'ip6', 'nat'], { signal: never })
      expect(await news.take(never)).toBe('any')
      expect(await news.take(never)).toEqual(new Set())
    })

    test('more news than the socket holds is not taken for none', async () => {
      await using site = await listening()
      const { iptables, news } = site
      const many = Array.from({ length: 1500 }, () => '-A A -m comment --comment "one of many" -j RETURN')
      // The socket has room for 16 MB. It is not read meanwhile.
      for (let n = 0; n < 40; n++) await iptables.restore(table('nat', ':A - [0:0]', ...many), never)
      expect(await news.take(never)).toBe('any')
      await iptables.restore(table('nat', '-F B'), never)
      expect(await news.take(never)).toEqual(new Set(['nat/B']))
    })

    test('who does not want to listen for a while must look at everything afterwards', async () => {
      await using site = await listening()
      const { iptables, news } = site
      await news.deaf(() => iptables.restore(table('nat', '-F B'), never))
      expect(await news.take(never)).toBe('any')
      await iptables.restore(table('nat', '-F A'), never)
      expect(await news.take(never)).toEqual(new Set(['nat/A']))
    })
  })
}

const missingLegacy = missingForRealTools(['iptables-legacy'])
test.skipIf(missingLegacy !== undefined)(
  `legacy tables tell that something changed, but not what ${missingLegacy ?? ''}`,
  async () => {
    await using namespace = await createNamespace()
    const iptables = await realIptables(namespace, 'ipv4', 'legacy')
    await iptables.restore(rules, never)
    const options = { iptables, tables, openDatagrams, log: strictLog }
    await using news = await inNamespace(namespace.path, () => openTableNews(options, never))
    expect(await news.take(never)).toBe('any')
    expect(await news.take(never)).toEqual(new Set())
    await iptables.restore(table('nat', '-I A -j RETURN'), never)
    expect(await news.takeAfterOwn(new Set(['nat/A']), never)).toEqual(new Set())
    await iptables.restore(table('nat', '-F A'), never)
    expect(await news.take(never)).toBe('any')
  },
)

test('where nobody can listen, the log says so and the kernel is asked instead', async () => {
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const refuse = () => Promise.reject(new Error('not on this machine'))
  const iptables = new MemoryIptables({ family: 'ipv4' })
  await using news = await openTableNews({ iptables, tables, openDatagrams: refuse, loadFfi: refuse, log }, never)
  expect(warnings).toHaveLength(2)
  await news.take(never)
  await iptables.ensureChain('nat', 'NEW', never)
  expect(await news.take(never)).toBe('any')
})

test('the first token is news, because nobody knows what was before', async () => {
  const detector = { isCheap: true, token: () => Promise.resolve('the same'), [Symbol.dispose]() {} }
  await using news = newsFromTokens(detector)
  expect(await news.take(never)).toBe('any')
  expect(await news.take(never)).toEqual(new Set())
})
