/** What every NftRuleset does: through the command, or in memory. */
import { describe, expect, test } from 'vitest'
import type { NftRuleset } from './nft-ruleset.ts'

/**
 * `make` gives two tables. `ip nat` has the chain OUTPUT at the kernel's hook of that name, with the policy accept and
 * one rule, and the chain MINE without a rule. `ip6 other` has the set `mine`.
 */
export function rulesetContract(name: string, make: () => Promise<NftRuleset>): void {
  const { signal } = new AbortController()
  const [nat, other] = [{ family: 'ipv4', name: 'nat' } as const, { family: 'ipv6', name: 'other' } as const]

  describe(`the ruleset by ${name}`, () => {
    test('lists the tables of both IP families', async () => {
      expect(await (await make()).list(signal)).toEqual({ tables: [nat, other], canChange: true })
    })

    test('tells what is in a table', async () => {
      const ruleset = await make()
      expect(await ruleset.shape(nat, signal)).toEqual({
        hasOtherObjects: false,
        chainsByName: new Map([
          ['OUTPUT', { hook: { name: 'output', policy: 'accept' }, ruleCount: 1 }],
          ['MINE', { hook: undefined, ruleCount: 0 }],
        ]),
      })
      expect(await ruleset.shape(other, signal)).toEqual({ hasOtherObjects: true, chainsByName: new Map() })
    })

    test('deletes a chain with its rules, and a table with all that is in it', async () => {
      const ruleset = await make()
      await ruleset.deleteChain(nat, 'OUTPUT', signal)
      expect([...(await ruleset.shape(nat, signal)).chainsByName.keys()]).toEqual(['MINE'])
      await ruleset.deleteTable(other, signal)
      expect((await ruleset.list(signal)).tables).toEqual([nat])
    })

    test('says so when there is no such table or chain', async () => {
      const ruleset = await make()
      const missing = { name: 'NftError', reason: 'missing' }
      const none = { family: 'ipv6', name: 'nat' } as const
      await expect(ruleset.shape(none, signal)).rejects.toMatchObject(missing)
      await expect(ruleset.deleteTable(none, signal)).rejects.toMatchObject(missing)
      await expect(ruleset.deleteChain(nat, 'NONE', signal)).rejects.toMatchObject(missing)
    })

    test('stops when it is aborted', async () => {
      const ruleset = await make()
      const aborted = AbortSignal.abort(new Error('stopping'))
      await expect(ruleset.list(aborted)).rejects.toThrow('stopping')
      await expect(ruleset.deleteTable(nat, aborted)).rejects.toThrow('stopping')
    })
  })
}
