import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { families } from '../../net/ip.ts'
import { canonicalRule } from './canonical-rule.ts'
import { findIptables } from './find-iptables.ts'
import { rulesOf, table } from './iptables.contract.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'
import { ruleShapes, shapeTargets, tableFor } from './testing/rule-shapes.ts'

const never = new AbortController().signal

const written: readonly (readonly [emitted: string, saved: string])[] = [
  ['-d 10.96.10.1', '-d 10.96.10.1/32'],
  ['-d 127.0.0.0/8 ! -s 127.0.0.0/8', '! -s 127.0.0.0/8 -d 127.0.0.0/8'],
  ['-m tcp -p tcp -d 10.96.10.1 --dport 80 -j X', '-d 10.96.10.1/32 -p tcp -m tcp --dport 80 -j X'],
  ['-A KUBE-SVC-1 -j X', '-A KUBE-SVC-1 -j X'],
  ['-m comment --comment shop/web:http -j X', '-m comment --comment "shop/web:http" -j X'],
  ['-m comment --comment "plain" -j X', '-m comment --comment plain -j X'],
  ['-m comment --comment "-j Y" -j X', '-m comment --comment "-j Y" -j X'],
  ['-m mark --mark 0x00004000/0x00004000', '-m mark --mark 0x4000/0x4000'],
  ['-j MARK --xor-mark 0x00004000', '-j MARK --set-xmark 0x4000/0x0'],
  ['-j MARK --or-mark 0x80000000', '-j MARK --set-xmark 0x80000000/0x80000000'],
  ['-j REJECT', '-j REJECT --reject-with icmp-port-unreachable'],
  ['-m recent --name C --set', '-m recent --set --name C --mask 255.255.255.255 --rsource'],
  [
    '-m recent --name C --rcheck --seconds 10800 --reap -j X',
    '-m recent --rcheck --seconds 10800 --reap --name C --mask 255.255.255.255 --rsource -j X',
  ],
  ['-m nfacct --nfacct-name X', '-m nfacct --nfacct-name  X'],
  ['! -i veth+ -s 10.0.0.0/8', '-s 10.0.0.0/8 ! -i veth+'],
  ['-s 0.0.0.0/0 -j X', '-j X'],
  [
    '-m comment --comment "with \'quotes\'" -m set --match-set S dst,dst ! -s 10.64.0.0/10 -j X',
    '! -s 10.64.0.0/10 -m comment --comment "with \\\'quotes\\\'" -m set --match-set S dst,dst -j X',
  ],
  [
    '-s 192.0.2.1 -m ipvs --vaddr 192.0.2.1 --vproto sctp --vport 80 -j DROP',
    '-s 192.0.2.1/32 -m ipvs --vproto 132 --vaddr 192.0.2.1 --vport 80 -j DROP',
  ],
]
for (const [emitted, saved] of written)
  test(`"${emitted}" is saved as "${saved}"`, () => {
    expect(canonicalRule(emitted, 'ipv4')).toBe(saved)
    expect(canonicalRule(saved, 'ipv4')).toBe(saved)
  })

test('IPv6 has longer hosts, masks and another way to reject', () => {
  expect(canonicalRule('-d fd00::1 -j REJECT', 'ipv6')).toBe(
    '-d fd00::1/128 -j REJECT --reject-with icmp6-port-unreachable',
  )
  expect(canonicalRule('-m recent --name C --set', 'ipv6')).toBe(
    '-m recent --set --name C --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource',
  )
  expect(canonicalRule('-s ::102:304', 'ipv6')).toBe('-s ::1.2.3.4/128')
})

const probabilities: readonly (readonly [emitted: string, saved: string])[] = [
  ['0.5000000000', '0.50000000000'],
  ['0.3333333333', '0.33333333349'],
  ['0.2000000000', '0.20000000019'],
  ['0.1666666667', '0.16666666651'],
  ['0.1428571429', '0.14285714272'],
  ['0.1000000000', '0.10000000009'],
  ['0.0100000000', '0.00999999978'],
  ['0.0010000000', '0.00100000016'],
  ['0.0004882812', '0.00048828125'],
  // Exactly half-way between two decimals.
  ['0.0002441406', '0.00024414062'],
]
for (const [emitted, saved] of probabilities)
  test(`the probability ${emitted} is saved as ${saved}`, () => {
    const rule = (probability: string) => `-m statistic --mode random --probability ${probability} -j X`
    expect(canonicalRule(rule(emitted), 'ipv4')).toBe(rule(saved))
  })

test('what kube-proxy left in the kernel is in canonical form already', async () => {
  const goldens = fileURLToPath(new URL('../../../tests/goldens', import.meta.url))
  const files = (await readdir(goldens, { recursive: true })).filter((file) => /ip6?tables-save\.txt$/.test(file))
  const rules = await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(join(goldens, file), 'utf8') })),
  )
  let seen = 0
  for (const { file, text } of rules) {
    const family = file.includes('ip6tables') ? 'ipv6' : 'ipv4'
    for (const saved of text.split('\n').filter((line) => line.startsWith('-A '))) {
      expect(`${file}: ${canonicalRule(saved, family)}`).toBe(`${file}: ${saved}`)
      seen++
    }
  }
  expect(seen).toBeGreaterThan(1000)
})

for (const variant of ['nf_tables', 'legacy'] as const)
  for (const family of families) {
    const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant === 'legacy' ? 'legacy' : 'nft'}`
    const missing = missingForRealTools([tool])
    const why = missing === undefined ? '' : ` (${missing})`
    test.skipIf(missing !== undefined)(
      `rules of all shapes are predicted as ${tool}-save prints them${why}`,
      async () => {
        await using namespace = await createNamespace()
        const { exec } = namespace
        const iptables = await findIptables({
          family,
          variant,
          exec,
          clock: systemClock,
          log: silentLogger,
          signal: never,
        })
        const hasNfacct = await exec('nfacct', ['add', 'some_pkts'], { signal: never }).then(
          (done) => done.exitCode === 0,
        )
        const seed = Math.floor(Math.random() * 2 ** 31)
        const all = fc.sample(ruleShapes(family, hasNfacct ? 'some_pkts' : undefined), { numRuns: 3000, seed })
        const declared = ['X', ...shapeTargets].map((chain) => `:${chain} - [0:0]`)
        for (const name of ['nat', 'filter'] as const) {
          const emitted = all.filter((rule) => tableFor(rule) === name)
          await iptables.restore(table(name, ...declared, ...emitted.map((rule) => `-A X ${rule}`)), never)
          const saved = await rulesOf(iptables, name, 'X')
          const different = emitted
            .map((rule, i) => ({ rule, predicted: canonicalRule(rule, family), saved: saved?.[i] }))
            .filter(({ predicted, saved }) => predicted !== saved)
          expect(saved).toHaveLength(emitted.length)
          expect(different.slice(0, 5), `seed ${seed}`).toEqual([])
        }
      },
    )
  }
