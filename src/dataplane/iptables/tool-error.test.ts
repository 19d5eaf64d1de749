import { expect, test } from 'vitest'
import { commandError, restoreError } from './tool-error.ts'

/** Texts of iptables 1.8.9. */
const restores: readonly {
  readonly printed: string
  readonly input?: string
  readonly reason?: string
  readonly line?: number
  readonly says: string
}[] = [
  {
    printed:
      'iptables-nft-restore v1.8.9 (nf_tables): unknown option "--nosuch"\nError occurred at line: 3\n' +
      "Try `iptables-nft-restore -h' or 'iptables-nft-restore --help' for more information.\n",
    line: 3,
    says: 'refused line 3 of its input, "-A A -j B": unknown option "--nosuch"',
  },
  {
    printed:
      'iptables-nft-restore v1.8.9 (nf_tables): \nline 3: RULE_DELETE failed (No such file or directory): rule in chain A\n',
    line: 3,
    says: 'RULE_DELETE failed (No such file or directory): rule in chain A',
  },
  {
    printed: 'iptables-nft-restore: line 3 failed: No chain/target/match by that name.\n',
    line: 3,
    says: 'line 3 failed: No chain/target/match by that name.',
  },
  { printed: 'iptables-restore: line 3 failed\n', line: 3, says: 'line 3 failed' },
  { printed: 'iptables-restore: line 3 failed', line: 3, says: 'line 3 failed' },
  // The line of COMMIT says nothing about the rule that caused it.
  { printed: 'iptables-restore: line 4 failed\n', says: 'refused the rules: line 4 failed' },
  {
    printed:
      "iptables-nft-restore v1.8.9 (nf_tables): Chain 'NOPE' does not exist\nError occurred at line: 4\n" +
      "Try `iptables-nft-restore -h' or 'iptables-nft-restore --help' for more information.\n",
    says: "refused the rules: Chain 'NOPE' does not exist",
  },
  {
    printed:
      "iptables-restore v1.8.9 (legacy): Couldn't load target `NOPE':No such file or directory\n\nError occurred at line: 3\n" +
      "Try `iptables-restore -h' or 'iptables-restore --help' for more information.\n",
    line: 3,
    says: "Couldn't load target `NOPE':No such file or directory",
  },
  { printed: 'iptables-restore: COMMIT expected at line 3\n', says: 'COMMIT expected at line 3' },
  {
    printed:
      "Can't lock /run/xtables.lock: Resource temporarily unavailable\nAnother app is currently holding the xtables lock. Stopped waiting after 5s.\n",
    reason: 'locked',
    says: 'another program holds the xtables lock',
  },
  {
    printed:
      'Another app is currently holding the xtables lock; still 3s 0us time ahead to have a chance to grab the lock...\n',
    reason: 'locked',
    says: 'another program holds the xtables lock',
  },
  {
    printed:
      'iptables-nft-restore v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)\n',
    reason: 'not-permitted',
    says: 'CAP_NET_ADMIN',
  },
  {
    printed: "Fatal: can't open lock file /run/xtables.lock: Permission denied\n",
    reason: 'not-permitted',
    says: '/run/xtables.lock',
  },
  {
    printed:
      "ip6tables-restore v1.8.9 (legacy): can't initialize ip6tables table `nat': Table does not exist (do you need to insmod?)\nPerhaps ip6tables or your kernel needs to be upgraded.\n",
    reason: 'unsupported',
    says: 'load the netfilter modules',
  },
  { printed: '', says: 'exit code 1' },
]
for (const { printed, reason, line, says } of restores)
  test(`a restore that prints "${printed.split('\n')[0]}" fails with a message that ${says.slice(0, 30)}`, () => {
    const input = '*nat\n:A - [0:0]\n-A A -j B\nCOMMIT\n'
    const error = restoreError('iptables-restore', input, { exitCode: 1, signal: null, stdout: '', stderr: printed })
    expect(error).toMatchObject({ reason: reason ?? 'refused', line, message: expect.stringContaining(says) })
  })

test('a tool that was killed from outside says by which signal', () => {
  const error = restoreError('iptables-restore', '', { exitCode: null, signal: 'SIGKILL', stdout: '', stderr: '' })
  expect(error).toMatchObject({ reason: 'refused', message: expect.stringContaining('SIGKILL') })
})

const missing = [
  'iptables: No chain/target/match by that name.\n',
  "iptables v1.8.9 (nf_tables): Chain 'NOPE' does not exist\nTry `iptables -h' or 'iptables --help' for more information.\n",
  "iptables v1.8.9 (legacy): Couldn't load target `NOPE':No such file or directory\n",
  'iptables: Bad rule (does a matching rule exist in that chain?).\n',
]
for (const printed of missing)
  test(`a command that prints "${printed.split('\n')[0]}" did not find something`, () => {
    const result = { exitCode: 2, signal: null, stdout: '', stderr: printed }
    expect(commandError('iptables', 'delete chain A', result)).toMatchObject({
      reason: 'not-found',
      message: expect.stringContaining('could not delete chain A: '),
    })
  })

for (const printed of [
  'iptables: Too many links.\n',
  'iptables v1.8.9 (nf_tables):  CHAIN_DEL failed (Device or resource busy): chain B\n',
])
  test(`a command that prints "${printed.trim()}" was refused`, () => {
    const result = { exitCode: 1, signal: null, stdout: '', stderr: printed }
    expect(commandError('iptables', 'delete chain B', result)).toMatchObject({ reason: 'refused' })
  })
