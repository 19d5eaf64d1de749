import { describe, expect, test } from 'vitest'
import { ExecError, processExec } from '../exec/exec.ts'
import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { openNetlink } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { commandRuleset } from './command/command-ruleset.ts'
import { MemoryRuleset } from './memory/memory-ruleset.ts'
import type { ChainShape } from './nft-ruleset.ts'
import { rulesetContract } from './nft-ruleset.contract.ts'

rulesetContract('MemoryRuleset', async () => {
  const ruleset = new MemoryRuleset()
  const output = { hook: { name: 'output', policy: 'accept' }, ruleCount: 1 }
  const chains = new Map<string, ChainShape>([
    ['OUTPUT', output],
    ['MINE', { hook: undefined, ruleCount: 0 }],
  ])
  ruleset.add({ family: 'ipv4', name: 'nat' }, chains)
  ruleset.add({ family: 'ipv6', name: 'other' }, new Map(), true)
  return ruleset
})

const { signal } = new AbortController()
const noNft: Exec = async () => Promise.reject(new ExecError('not-found', 'there is no program "nft"'))
const noNetlink = async () => Promise.reject(new NetlinkError('unsupported', 'no netlink here'))

const missing = missingForNamespace('ip', 'nft')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  rulesetContract('commandRuleset', async () => {
    enterFreshNamespace()
    run(`nft '
      add table ip nat; add table inet nat; add table ip6 other; add set ip6 other mine { type ipv6_addr; }
      add chain ip nat OUTPUT { type nat hook output priority -100; policy accept; }; add rule ip nat OUTPUT accept
      add chain ip nat MINE'`)
    return commandRuleset({ exec: processExec, openNetlink })
  })

  test('the kernel tells which tables there are where there is no nft to ask', async () => {
    enterFreshNamespace()
    run(`nft 'add table ip fairlead; add table inet firewalld'`)
    const table = { family: 'ipv4', name: 'fairlead' } as const
    const ruleset = commandRuleset({ exec: noNft, openNetlink })
    expect(await ruleset.list(signal)).toEqual({ tables: [table], canChange: false })
    await expect(ruleset.deleteTable(table, signal)).rejects.toMatchObject({ reason: 'no-tool' })
  })
})

test('without nft and without netlink, no table is there', async () => {
  const ruleset = commandRuleset({ exec: noNft, openNetlink: noNetlink })
  expect(await ruleset.list(signal)).toEqual({ tables: [], canChange: false })
})

test('a kernel without nf_tables has no tables, but one that refuses to show them may', async () => {
  const listWith = (stderr: string) => {
    const exec: Exec = async () => ({ exitCode: 1, signal: null, stdout: '', stderr })
    return commandRuleset({ exec, openNetlink: noNetlink }).list(signal)
  }
  const unsupported = 'netlink: Error: cache initialization failed: Protocol not supported'
  expect(await listWith(unsupported)).toEqual({ tables: [], canChange: true })
  await expect(listWith('Operation not permitted (you must be root)')).rejects.toMatchObject({
    reason: 'not-permitted',
  })
})
