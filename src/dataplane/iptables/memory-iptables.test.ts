import { expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import { iptablesContract, rulesOf, table } from './iptables.contract.ts'
import { MemoryIptables } from './memory-iptables.ts'

const never = new AbortController().signal

for (const family of families)
  iptablesContract(`the in-memory iptables (${family})`, family, async () =>
    Object.assign(new MemoryIptables({ family }), { async [Symbol.asyncDispose]() {} }),
  )

test('the in-memory iptables refuses rules with a match that its kernel lacks', async () => {
  const iptables = new MemoryIptables({ family: 'ipv4', missingMatches: new Set(['recent']) })
  const rule = '-A A -m recent --name X --rcheck --seconds 10800 --reap -j ACCEPT'
  const refused = iptables.restore(table('nat', ':A - [0:0]', '-A A -j RETURN', rule), never)
  await expect(refused).rejects.toMatchObject({ reason: 'refused', line: 4 })
})

test('a comment that looks like a jump is none', async () => {
  const iptables = new MemoryIptables({ family: 'ipv4' })
  await iptables.restore(table('nat', ':A - [0:0]', '-A A -m comment --comment "this does not -j ANYWHERE"'), never)
  expect(await rulesOf(iptables, 'nat', 'A')).toEqual(['-m comment --comment "this does not -j ANYWHERE"'])
})
