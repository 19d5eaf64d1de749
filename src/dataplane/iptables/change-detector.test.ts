import { describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { LogFields } from '../../core/logger.ts'
import { silentLogger } from '../../core/logger.ts'
import { families } from '../../net/ip.ts'
import { openDatagrams } from '../netlink/open-netlink.ts'
import type { ChangeDetector } from './change-detector.ts'
import { openChangeDetector, savedRulesHash } from './change-detector.ts'
import { findIptables } from './find-iptables.ts'
import { table } from './iptables.contract.ts'
import type { Iptables } from './iptables.ts'
import { MemoryIptables } from './memory-iptables.ts'
import { inNamespace } from './testing/in-namespace.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'

const never = new AbortController().signal
const tables = ['filter', 'nat', 'mangle'] as const
const rules = table('nat', ':A - [0:0]', ':B - [0:0]', '-A A -j B', '-A OUTPUT -j A', '-A B -i eth0 -j RETURN')

/** Changes by other programs, and whether we must notice them. */
const harm: readonly { readonly what: string; readonly input: string }[] = [
  { what: 'a flushed chain', input: table('nat', '-F B') },
  { what: 'a deleted jump', input: table('nat', '-D OUTPUT -j A') },
  { what: 'a rule added on top', input: table('nat', '-I A -j RETURN') },
  { what: 'a new chain', input: table('filter', ':NEW - [0:0]') },
  { what: 'a deleted rule', input: table('nat', '-D A -j B') },
]

function notices(
  name: string,
  open: (iptables: Iptables) => Promise<ChangeDetector>,
  make: () => Promise<Iptables & AsyncDisposable>,
) {
  for (const { what, input } of harm)
    test(`${name} notices ${what}`, async () => {
      await using iptables = await make()
      await iptables.restore(rules, never)
      await using detector = await open(iptables)
      const before = await detector.token(never)
      await iptables.restore(input, never)
      expect(await detector.token(never)).not.toBe(before)
    })

  test(`${name} gives the same token as long as nothing changes`, async () => {
    await using iptables = await make()
    await iptables.restore(rules, never)
    await using detector = await open(iptables)
    const before = await detector.token(never)
    await iptables.save('nat', never)
    await iptables.chainExists('mangle', 'KUBE-PROXY-CANARY', never)
    await iptables.deleteRule('nat', 'OUTPUT', ['-j', 'B'], never)
    expect(await detector.token(never)).toBe(before)
  })
}

notices(
  'the hash of saved rules',
  async (iptables) => savedRulesHash(iptables, tables),
  async () => Object.assign(new MemoryIptables({ family: 'ipv4' }), { async [Symbol.asyncDispose]() {} }),
)

for (const variant of ['nf_tables', 'legacy'] as const)
  for (const family of families) {
    const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant === 'legacy' ? 'legacy' : 'nft'}`
    const missing = missingForRealTools([tool])
    describe.skipIf(missing !== undefined)(`${tool} ${missing ?? 'is here'}`, () => {
      const rulesOfFamily = async () => {
        const namespace = await createNamespace()
        const options = { family, variant, exec: namespace.exec, clock: systemClock, log: silentLogger, signal: never }
        const iptables = await findIptables(options)
        return Object.assign(iptables, { namespace, [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose]() })
      }
      const refuseFallback = { ...silentLogger, warn: (message: string) => expect.fail(message) }
      notices(
        `the kernel's token for ${tool}`,
        async (iptables) => {
          const { namespace } = iptables as Awaited<ReturnType<typeof rulesOfFamily>>
          return inNamespace(namespace.path, () =>
            openChangeDetector({ iptables, tables, openDatagrams, log: refuseFallback }, never),
          )
        },
        rulesOfFamily,
      )

      test(`${tool}: a rule in the place of an equally long one is ${variant === 'legacy' ? 'not ' : ''}noticed`, async () => {
        await using iptables = await rulesOfFamily()
        await iptables.restore(rules, never)
        const open = () => openChangeDetector({ iptables, tables, openDatagrams, log: refuseFallback }, never)
        await using detector = await inNamespace(iptables.namespace.path, open)
        const before = await detector.token(never)
        await iptables.restore(table('nat', ':B - [0:0]', '-A B -i eth1 -j RETURN'), never)
        // Not noticed: this is why the whole tables are compared now and then.
        expect((await detector.token(never)) === before).toBe(variant === 'legacy')
      })
    })
  }

test('where the kernel cannot be asked, the saved rules are read instead and the log says why', async () => {
  const warnings: unknown[] = []
  const log = { ...silentLogger, warn: (_: string, fields?: LogFields) => void warnings.push(fields) }
  const error = new Error('no binary for this platform')
  const iptables = new MemoryIptables({ family: 'ipv4' })
  await using detector = await openChangeDetector(
    { iptables, tables, log, openDatagrams: () => Promise.reject(error) },
    never,
  )
  expect(warnings).toEqual([{ variant: 'nf_tables', error }])
  const before = await detector.token(never)
  await iptables.ensureChain('mangle', 'KUBE-PROXY-CANARY', never)
  expect(await detector.token(never)).not.toBe(before)
})

test('the hash of saved rules leaves out the time and the packet counters', async () => {
  const printed = (when: string, packets: number) =>
    `# Generated by iptables-save v1.8.9 on ${when}\n*nat\n:INPUT ACCEPT [${packets}:99]\n-A INPUT -j ACCEPT\nCOMMIT\n`
  const texts = [printed('Sun Nov 15 15:00:18', 1), printed('Mon Nov 16 15:00:18', 2)]
  const iptables = Object.assign(new MemoryIptables({ family: 'ipv4' }), { save: async () => texts.shift() ?? '' })
  await using detector = savedRulesHash(iptables, ['nat'])
  expect(await detector.token(never)).toBe(await detector.token(never))
})
