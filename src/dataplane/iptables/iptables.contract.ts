/** The tests that every Iptables passes: with the real tools, or in memory. */
import { expect, test } from 'vitest'
import type { Family } from '../../net/ip.ts'
import type { ChainPath, CountedRule, Iptables, Table } from './iptables.ts'
import { SaveReader } from './save-reader.ts'
import { parseSave } from './save-text.ts'

const never = new AbortController().signal

/** `make` returns an iptables that has only the built-in chains, without rules. */
export function iptablesContract(name: string, family: Family, make: () => Promise<Iptables & AsyncDisposable>): void {
  const ip = family === 'ipv4' ? '10.96.10.1' : 'fd00:96::1'
  const host = `${ip}/${family === 'ipv4' ? 32 : 128}`

  test(`${name} knows its family, its version and what it can do`, async () => {
    await using iptables = await make()
    expect(iptables.family).toBe(family)
    expect(await iptables.isSupported(never)).toBe(true)
    expect(await iptables.features(never)).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+/),
      hasRandomFully: true,
    })
  })

  test(`${name} knows which matches rules can have`, async () => {
    await using iptables = await make()
    expect(await iptables.hasMatch('comment', never)).toBe(true)
    expect(await iptables.hasMatch('no-such-match', never)).toBe(false)
  })

  test(`${name} has the built-in chains from the start`, async () => {
    await using iptables = await make()
    expect(await chainNames(iptables, 'nat')).toEqual(['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'])
    expect(await chainNames(iptables, 'filter')).toEqual(['INPUT', 'FORWARD', 'OUTPUT'])
    expect(await iptables.chainExists('mangle', 'FORWARD', never)).toBe(true)
  })

  test(`${name} restores chains and rules, and saves them in canonical form`, async () => {
    await using iptables = await make()
    await iptables.restore(
      table(
        'nat',
        ':ZEBRA - [0:0]',
        ':ALPHA - [0:0]',
        `-A ZEBRA -m comment --comment "two words" -m tcp -p tcp -d ${ip} --dport 80 -j ALPHA`,
        '-A ALPHA -j MARK --or-mark 0x00004000',
        '-A OUTPUT -m comment --comment one -j ZEBRA',
      ),
      never,
    )
    const saved = await iptables.save('nat', never)
    expect(withoutRemarks(saved)).toBe(
      [
        '*nat',
        ':PREROUTING ACCEPT [0:0]',
        ':INPUT ACCEPT [0:0]',
        ':OUTPUT ACCEPT [0:0]',
        ':POSTROUTING ACCEPT [0:0]',
        ':ALPHA - [0:0]',
        ':ZEBRA - [0:0]',
        '-A OUTPUT -m comment --comment one -j ZEBRA',
        '-A ALPHA -j MARK --set-xmark 0x4000/0x4000',
        `-A ZEBRA -d ${host} -p tcp -m comment --comment "two words" -m tcp --dport 80 -j ALPHA`,
        'COMMIT',
        '',
      ].join('\n'),
    )
  })

  test(`${name} saves all tables at once, too`, async () => {
    await using iptables = await make()
    await iptables.restore([table('filter', ':A - [0:0]', '-A A -j DROP'), table('nat', ':B - [0:0]')], never)
    const saved = parseSave(await iptables.saveAll(never))
    expect(saved.get('filter')).toEqual(parseSave(await iptables.save('filter', never)).get('filter'))
    expect(saved.get('nat')).toEqual(parseSave(await iptables.save('nat', never)).get('nat'))
    const reader = new SaveReader({ isSummaryEnough: () => false })
    await iptables.readAll((piece) => reader.add(piece), never)
    expect(reader.end().rules).toEqual(saved)
  })

  test(`${name} empties a chain that is declared again, and leaves the others alone`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat', ':A - [0:0]', ':B - [0:0]', '-A A -j RETURN', '-A B -j RETURN'), never)
    await iptables.restore(table('nat', ':A - [0:0]', '-A A -j ACCEPT'), never)
    expect(await rulesOf(iptables, 'nat', 'A')).toEqual(['-j ACCEPT'])
    expect(await rulesOf(iptables, 'nat', 'B')).toEqual(['-j RETURN'])
  })

  test(`${name} keeps the rules of a built-in chain that is declared`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat', '-A OUTPUT -j RETURN'), never)
    await iptables.restore(table('nat', ':OUTPUT ACCEPT [0:0]'), never)
    expect(await rulesOf(iptables, 'nat', 'OUTPUT')).toEqual(['-j RETURN'])
  })

  test(`${name} inserts each rule above the last`, async () => {
    await using iptables = await make()
    const lines = [':A - [0:0]', '-A A -j RETURN', '-I A -j ACCEPT', '-I A 1 -m comment --comment top -j ACCEPT']
    await iptables.restore(table('nat', ...lines), never)
    expect(await rulesOf(iptables, 'nat', 'A')).toEqual([
      '-m comment --comment top -j ACCEPT',
      '-j ACCEPT',
      '-j RETURN',
    ])
  })

  test(`${name} deletes the first rule that equals the given one, however that is written`, async () => {
    await using iptables = await make()
    const rule = `-m tcp -p tcp -d ${ip} --dport 80 -j ACCEPT`
    await iptables.restore(table('nat', ':A - [0:0]', `-A A ${rule}`, '-A A -j RETURN', `-A A ${rule}`), never)
    await iptables.restore(table('nat', `-D A -d ${host} -p tcp -m tcp --dport 80 -j ACCEPT`), never)
    expect(await rulesOf(iptables, 'nat', 'A')).toEqual(['-j RETURN', `-d ${host} -p tcp -m tcp --dport 80 -j ACCEPT`])
  })

  test(`${name} flushes, makes and deletes chains by command, too`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat', ':A - [0:0]', '-A A -j RETURN', '-N B', '-F A', '-A B -j A'), never)
    expect(await rulesOf(iptables, 'nat', 'A')).toEqual([])
    await iptables.restore(table('nat', '-F B', '-X A', '-X B'), never)
    expect(await chainNames(iptables, 'nat')).toHaveLength(4)
  })

  test(`${name} deletes stale chains that jump to each other, when all are declared first`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat', ':A - [0:0]', ':B - [0:0]', '-A A -j B'), never)
    await iptables.restore(table('nat', ':B - [0:0]', ':A - [0:0]', '-X B', '-X A'), never)
    expect(await chainNames(iptables, 'nat')).toHaveLength(4)
  })

  /** Each of these is tried on a table that holds chain A with a jump to chain B. */
  const refusals: readonly { what: string; lines: readonly string[]; line?: number }[] = [
    { what: 'the deletion of a rule that is not there', lines: [':B - [0:0]', '-D A -j RETURN'], line: 3 },
    { what: 'the deletion of a chain that a rule jumps to', lines: [':B - [0:0]', '-X B'], line: 3 },
    { what: 'the deletion of a chain that is not empty', lines: ['-X A'], line: 2 },
    { what: 'the deletion of a chain that is not there', lines: ['-F A', '-X NOWHERE'], line: 3 },
    { what: 'the deletion of a built-in chain', lines: ['-X OUTPUT'], line: 2 },
    { what: 'a second chain of the same name', lines: ['-N A'], line: 2 },
    { what: 'a jump to a chain that is not there', lines: [':A - [0:0]', '-A A -j NOWHERE'] },
    { what: 'a jump to a chain that is only declared later', lines: ['-A A -j LATER', ':LATER - [0:0]'] },
    { what: 'a jump to a built-in chain', lines: ['-A A -j OUTPUT'], line: 2 },
    { what: 'a rule for a chain that is not there', lines: ['-F A', '-A NOWHERE -j RETURN'], line: 3 },
    { what: 'a bad address', lines: [':A - [0:0]', '-A A -d 10.0.0.300 -j B'], line: 3 },
    { what: 'a bad port', lines: [':A - [0:0]', '-A A -p tcp -m tcp --dport 99999 -j B'], line: 3 },
    { what: 'an overlong chain name', lines: ['-F A', `:${'A'.repeat(29)} - [0:0]`], line: 3 },
    { what: 'a loop below a built-in chain', lines: ['-A B -j A', '-A OUTPUT -j A'] },
    { what: 'masquerading before routing', lines: ['-A PREROUTING -j MASQUERADE'] },
    { what: 'a target of another table', lines: ['-A A -j REJECT'] },
    { what: 'dropping in the nat table', lines: ['-A A -j DROP'], line: 2 },
    { what: 'an unknown command', lines: ['hello'], line: 2 },
  ]
  for (const { what, lines, line } of refusals)
    test(`${name} refuses ${what} and leaves the table as it was`, async () => {
      await using iptables = await make()
      await iptables.restore(table('nat', ':A - [0:0]', ':B - [0:0]', '-A A -j B'), never)
      const before = withoutRemarks(await iptables.save('nat', never))
      const refused = iptables.restore(table('nat', ...lines), never)
      await expect(refused).rejects.toMatchObject({ name: 'IptablesError', reason: 'refused' })
      await expect(refused).rejects.toMatchObject(line === undefined ? {} : { line })
      expect(withoutRemarks(await iptables.save('nat', never))).toBe(before)
    })

  test(`${name} keeps an earlier table of an input whose later table is refused`, async () => {
    await using iptables = await make()
    const input = table('filter', ':F - [0:0]') + table('nat', ':N - [0:0]', '-A N -j NOWHERE')
    await expect(iptables.restore(input, never)).rejects.toMatchObject({ reason: 'refused' })
    expect(await iptables.chainExists('filter', 'F', never)).toBe(true)
    expect(await iptables.chainExists('nat', 'N', never)).toBe(false)
  })

  test(`${name} cuts an overlong comment`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat', ':A - [0:0]', `-A A -m comment --comment ${'a'.repeat(300)}`), never)
    expect(await rulesOf(iptables, 'nat', 'A')).toEqual([`-m comment --comment ${'a'.repeat(255)}`])
  })

  test(`${name} refuses a table without COMMIT`, async () => {
    await using iptables = await make()
    await expect(iptables.restore('*nat\n:A - [0:0]\n', never)).rejects.toMatchObject({ reason: 'refused' })
    expect(await iptables.chainExists('nat', 'A', never)).toBe(false)
  })

  test(`${name} takes an empty table`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat'), never)
    expect(await rulesOf(iptables, 'nat', 'OUTPUT')).toEqual([])
  })

  test(`${name} makes a chain once`, async () => {
    await using iptables = await make()
    expect(await iptables.ensureChain('mangle', 'KUBE-PROXY-CANARY', never)).toBe(true)
    expect(await iptables.ensureChain('mangle', 'KUBE-PROXY-CANARY', never)).toBe(false)
    expect(await iptables.chainExists('mangle', 'KUBE-PROXY-CANARY', never)).toBe(true)
    expect(await iptables.chainExists('nat', 'KUBE-PROXY-CANARY', never)).toBe(false)
  })

  const jump = ['-m', 'conntrack', '--ctstate', 'NEW', '-m', 'comment', '--comment', 'service portals', '-j', 'A']
  const savedJump = '-m conntrack --ctstate NEW -m comment --comment "service portals" -j A'

  test(`${name} inserts a rule at the top once, and does not move it later`, async () => {
    await using iptables = await make()
    await iptables.restore(table('filter', ':A - [0:0]', '-A FORWARD -j ACCEPT'), never)
    expect(await iptables.ensureRule('filter', 'FORWARD', jump, never)).toBe(true)
    expect(await iptables.ensureRule('filter', 'FORWARD', ['-j', 'DROP'], never)).toBe(true)
    expect(await iptables.ensureRule('filter', 'FORWARD', jump, never)).toBe(false)
    expect(await rulesOf(iptables, 'filter', 'FORWARD')).toEqual(['-j DROP', savedJump, '-j ACCEPT'])
  })

  test(`${name} deletes a rule that is there, and only that one`, async () => {
    await using iptables = await make()
    await iptables.restore(table('filter', ':A - [0:0]', '-A FORWARD -j A', `-A FORWARD ${savedJump}`), never)
    expect(await iptables.deleteRule('filter', 'FORWARD', jump, never)).toBe(true)
    expect(await iptables.deleteRule('filter', 'FORWARD', jump, never)).toBe(false)
    expect(await rulesOf(iptables, 'filter', 'FORWARD')).toEqual(['-j A'])
  })

  test(`${name} has no rule to delete where its target does not even exist`, async () => {
    await using iptables = await make()
    expect(await iptables.deleteRule('filter', 'FORWARD', jump, never)).toBe(false)
    expect(await iptables.deleteRule('filter', 'NOWHERE', ['-j', 'ACCEPT'], never)).toBe(false)
  })

  test(`${name} says not-found when a rule is to jump to a chain that is not there`, async () => {
    await using iptables = await make()
    const missingTarget = iptables.ensureRule('filter', 'FORWARD', jump, never)
    await expect(missingTarget).rejects.toMatchObject({ reason: 'not-found' })
    const missingChain = iptables.ensureRule('filter', 'NOWHERE', ['-j', 'ACCEPT'], never)
    await expect(missingChain).rejects.toMatchObject({ reason: 'not-found' })
  })

  test(`${name} lists the rules of one chain as it saves them`, async () => {
    await using iptables = await make()
    const rule = `-m comment --comment "two words" -m tcp -p tcp -d ${ip} --dport 80 -j AB`
    await iptables.restore(
      table('nat', ':A - [0:0]', ':AB - [0:0]', `-A A ${rule}`, '-A A -j RETURN', '-A AB -j ACCEPT', '-A OUTPUT -j A'),
      never,
    )
    const listed = await iptables.chainRules('nat', 'A', never)
    expect(listed).toHaveLength(2)
    expect(listed).toEqual(await rulesOf(iptables, 'nat', 'A'))
    expect(await iptables.chainRules('nat', 'OUTPUT', never)).toEqual(['-j A'])
    expect(await iptables.chainRules('nat', 'PREROUTING', never)).toEqual([])
    expect(await iptables.chainRules('nat', 'NOWHERE', never)).toBeUndefined()
    expect(await iptables.chainRules('filter', 'A', never)).toBeUndefined()
  })

  test(`${name} says how many packets each rule has matched, of all rules and of some chains`, async () => {
    await using iptables = await make()
    const rule = `-m comment --comment "not -c 1 2 -j X" -m tcp -p tcp -d ${ip} --dport 80 -j B`
    await iptables.restore(
      table(
        'nat',
        ':A - [0:0]',
        ':B - [0:0]',
        `[3:180] -A A ${rule}`,
        '[4:0] -A A',
        '-A B -j ACCEPT',
        '-A OUTPUT -j A',
      ),
      never,
    )
    const counters = async (...chains: readonly ChainPath[]) => {
      const found: CountedRule[] = []
      await iptables.readCounters((counted) => found.push(counted), never, ...(chains.length > 0 ? [chains] : []))
      return found
    }
    // ip6tables-nft-restore 1.8.9 takes the counts, and does not set them.
    const given = (packets: number) => (name.startsWith('ip6tables-nft') ? 0 : packets)
    const [first = '', second = ''] = (await rulesOf(iptables, 'nat', 'A')) ?? []
    const ofA = [
      { table: 'nat', chain: 'A', rule: first, packets: given(3) },
      { table: 'nat', chain: 'A', rule: second, packets: given(4) },
    ]
    const all = await counters()
    expect(all).toHaveLength(4)
    expect(all).toEqual(expect.arrayContaining(ofA))
    expect(await counters('nat/A', 'nat/NOWHERE', 'filter/A')).toEqual(ofA)

    // A chain that is written anew begins at zero.
    await iptables.restore(table('nat', ':A - [0:0]', `-A A ${rule}`), never)
    expect(await counters('nat/A')).toMatchObject([{ packets: 0 }])
  })

  test(`${name} deletes an empty chain that nothing jumps to, and no other`, async () => {
    await using iptables = await make()
    await iptables.restore(table('nat', ':A - [0:0]', ':B - [0:0]', ':C - [0:0]', '-A A -j B'), never)
    await iptables.deleteChain('nat', 'C', never)
    expect(await iptables.chainExists('nat', 'C', never)).toBe(false)
    await expect(iptables.deleteChain('nat', 'A', never)).rejects.toMatchObject({ reason: 'refused' })
    await expect(iptables.deleteChain('nat', 'B', never)).rejects.toMatchObject({ reason: 'refused' })
    await expect(iptables.deleteChain('nat', 'C', never)).rejects.toMatchObject({ reason: 'not-found' })
  })

  test(`${name} loads ten thousand rules at once`, async () => {
    await using iptables = await make()
    const chains = Array.from({ length: 2500 }, (_, i) => `KUBE-SVC-${i}`)
    const declared = chains.map((chain) => `:${chain} - [0:0]`)
    const rules = chains.flatMap((chain, i) => [
      `-A KUBE-SERVICES -m tcp -p tcp -d ${ip} --dport ${i + 1} -j ${chain}`,
      `-A ${chain} -m comment --comment "one of many" -m statistic --mode random --probability 0.5000000000 -j ACCEPT`,
      `-A ${chain} -j RETURN`,
    ])
    await iptables.restore(table('nat', ':KUBE-SERVICES - [0:0]', ...declared, ...rules), never)
    const saved = parseSave(await iptables.save('nat', never)).get('nat')
    expect(saved?.size).toBe(2505)
    expect(saved?.get('KUBE-SERVICES')).toHaveLength(2500)
    expect(saved?.get('KUBE-SVC-2499')).toHaveLength(2)
  })

  test(`${name} refuses a control character in what it is given, and then changes nothing`, async () => {
    await using iptables = await make()
    const refused = { reason: 'refused', message: expect.stringContaining('holds a control character') }
    for (const evil of ['a\u0000b', 'a\rb', 'a\u001b[2J', 'a\tb', 'a\u007f'])
      await expect(
        iptables.restore(table('nat', ':A - [0:0]', `-A A -m comment --comment "${evil} c" -j RETURN`), never),
      ).rejects.toMatchObject(refused)
    await expect(iptables.ensureChain('nat', 'A\nB', never)).rejects.toMatchObject(refused)
    const rule = ['-m', 'comment', '--comment', 'x\n-A INPUT -j ACCEPT', '-j', 'RETURN']
    await expect(iptables.ensureRule('nat', 'OUTPUT', rule, never)).rejects.toMatchObject(refused)
    expect(await chainNames(iptables, 'nat')).toEqual(['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'])
    expect(await rulesOf(iptables, 'nat', 'OUTPUT')).toEqual([])
  })

  test(`${name} does nothing for a signal that has aborted`, async () => {
    await using iptables = await make()
    const aborted = AbortSignal.abort(new Error('stop'))
    await expect(iptables.restore(table('nat', ':A - [0:0]'), aborted)).rejects.toThrow('stop')
    await expect(iptables.ensureChain('nat', 'A', aborted)).rejects.toThrow('stop')
    expect(await iptables.chainExists('nat', 'A', never)).toBe(false)
  })
}

/** The input of a restore for one table. */
export function table(name: Table, ...lines: readonly string[]): string {
  return [`*${name}`, ...lines, 'COMMIT', ''].join('\n')
}

export async function rulesOf(iptables: Iptables, name: Table, chain: string): Promise<readonly string[] | undefined> {
  return parseSave(await iptables.save(name, never))
    .get(name)
    ?.get(chain)
}

function withoutRemarks(saved: string): string {
  return saved.replace(/^#.*\n/gm, '')
}

async function chainNames(iptables: Iptables, name: Table): Promise<readonly string[]> {
  return [
    ...(parseSave(await iptables.save(name, never))
      .get(name)
      ?.keys() ?? []),
  ]
}
