/** What every NftTable does, whether it is in memory, behind the nft command, or behind netlink. */
import { describe, expect, test } from 'vitest'
import type { Family } from '../../net/ip.ts'
import type { NftOperation, NftTable, SetDeclaration, SetElement } from './nft.ts'
import { renderRule } from './render-rule.ts'
import { commentedRule, rule } from './rule.ts'
import type { Statement } from './rule.ts'
import { sampleTable } from './testing/sample-table.ts'

const { signal } = new AbortController()

/** `open` gives an object that finds no table yet. */
export function nftContract(name: string, family: Family, open: () => Promise<NftTable>): void {
  const sample = sampleTable(family)
  const { ip, services, endpoints, nodePorts, ranges, cidrs, clusterIps, affinity, open: openConnections } = sample
  const hostLength = family === 'ipv4' ? 32 : 128
  const web = `${ip(1)} . tcp . 80`

  async function filled(...operations: readonly NftOperation[]): Promise<NftTable> {
    const table = await open()
    await table.commit([...sample.setUp, ...operations], signal)
    return table
  }

  async function found(table: NftTable, set: SetDeclaration): Promise<Record<string, string>> {
    const elements = [...(await table.elements(set, signal))].map(([key, { value }]) => [key, value] as const)
    return Object.fromEntries(elements.sort(([left], [right]) => (left < right ? -1 : 1)))
  }

  describe(`${name}, ${family}`, () => {
    test('lists nothing before there is a table', async () => {
      await using table = await open()
      expect(await table.list(signal)).toBeUndefined()
      expect(await table.elements(services, signal)).toEqual(new Map())
      expect(await table.rules(['pick-2'], signal)).toEqual(new Map())
    })

    test('lists the comment of the table, its chains and its sets', async () => {
      await using table = await filled()
      const listing = await table.list(signal)
      expect(listing?.comment).toBe('a sample')
      expect(listing?.chains.toSorted()).toEqual(['nat-prerouting', 'pick-2', 'spare'])
      expect(listing?.sets.toSorted()).toEqual(
        [services, endpoints, nodePorts, ranges, cidrs, clusterIps, affinity, openConnections]
          .map(({ name }) => name)
          .sort(),
      )
    })

    test('finds the elements of a set that is not there to be none', async () => {
      await using table = await filled()
      expect(await table.elements({ ...services, name: 'other' }, signal)).toEqual(new Map())
    })

    const cases: readonly (readonly [string, SetDeclaration, readonly SetElement[]])[] = [
      [
        'verdicts by address',
        services,
        [
          { key: web, value: 'goto pick-2', comment: 'demo/web:http' },
          { key: `${ip(2)} . udp . 53`, value: 'drop' },
          { key: `${ip(2)} . sctp . 65535`, value: 'jump pick-2' },
        ],
      ],
      ['verdicts by port', nodePorts, [{ key: 'tcp . 30080', value: 'goto pick-2', comment: 'demo/web:http' }]],
      [
        'endpoints by number',
        endpoints,
        [
          { key: `${web} . 0`, value: `${ip(1000)} . 8080` },
          { key: `${web} . 1`, value: `${ip(1001)} . 8081` },
          { key: `${web} . 70000`, value: `${ip(1002)} . 1` },
        ],
      ],
      ['addresses', clusterIps, [{ key: ip(1) }, { key: ip(2), comment: 'two' }]],
      [
        'prefixes at the end of a key',
        ranges,
        [{ key: `${web} . ${ip(0)}/${hostLength - 8}` }, { key: `${web} . ${ip(0x300)}` }],
      ],
      ['prefixes', cidrs, [{ key: `${ip(0)}/${hostLength - 9}` }, { key: `${ip(0x200)}/${hostLength - 9}` }]],
      ['clients that rules would add', affinity, [{ key: ip(7) }]],
    ]
    for (const [what, set, elements] of cases)
      test(`holds ${what}, and lets go of them`, async () => {
        await using table = await filled({ do: 'add elements', set, elements })
        const expected = Object.fromEntries(elements.map(({ key, value }) => [key, value ?? '']))
        expect(await found(table, set)).toEqual(expected)
        const [first, ...rest] = elements.map(({ key }) => key)
        await table.commit([{ do: 'delete elements', set, keys: rest }], signal)
        expect(Object.keys(await found(table, set))).toEqual([first])
      })

    test('writes a prefix of one address as the address', async () => {
      const elements = [{ key: `${web} . ${ip(5)}/${hostLength}` }]
      await using table = await filled({ do: 'add elements', set: ranges, elements })
      expect(await found(table, ranges)).toEqual({ [`${web} . ${ip(5)}`]: '' })
      await table.commit([{ do: 'delete elements', set: ranges, keys: elements.map(({ key }) => key) }], signal)
      expect(await found(table, ranges)).toEqual({})
    })

    test('counts nothing where no packet came', async () => {
      const elements = [{ key: web, value: 'drop' }]
      await using table = await filled({ do: 'add elements', set: services, elements })
      expect((await table.elements(services, signal)).get(web)).toEqual({ value: 'drop', packets: 0 })
    })

    test('holds prefixes up to the last address, and those that are there already', async () => {
      const [first, last] = family === 'ipv4' ? ['0.0.0.0/1', '128.0.0.0/1'] : ['::/1', '8000::/1']
      const both: NftOperation = { do: 'add elements', set: cidrs, elements: [{ key: first }, { key: last }] }
      await using table = await filled(both)
      await table.commit([both], signal)
      expect(await found(table, cidrs)).toEqual({ [first]: '', [last]: '' })
      await table.commit([{ do: 'delete elements', set: cidrs, keys: [last] }], signal)
      expect(await found(table, cidrs)).toEqual({ [first]: '' })
    })

    test('finds elements by key, and does not mind those that are not there', async () => {
      const elements = [1, 2, 3].map((n) => ({ key: `${ip(n)} . tcp . 80`, value: 'drop' }))
      await using table = await filled({ do: 'add elements', set: services, elements })
      const keys = [2, 9, 3].map((n) => `${ip(n)} . tcp . 80`)
      const some = await table.elements(services, signal, keys)
      expect(keys.map((key) => some.get(key)?.value)).toEqual(['drop', undefined, 'drop'])
      expect(await table.elements({ ...services, name: 'other' }, signal, keys)).toEqual(new Map())
    })

    test('reads rules back as they were written', async () => {
      const fields = ['destination', 'protocol', 'port'] as const
      const target: Statement = { kind: 'goto', chain: 'pick-2' }
      const mark: Statement = { kind: 'set mark', mark: '0x00004000' }
      const rules = [
        rule(mark),
        commentedRule('pods on this node', { kind: 'source', cidr: `${ip(0)}/${hostLength - 8}` }, target),
        rule({ kind: 'in interface', name: 'cali*', isNot: true }, target),
        commentedRule('this node', { kind: 'is local', end: 'source' }, mark, target),
        rule({ kind: 'look up verdict', fields, map: services.name }),
        rule({ kind: 'in set', fields: ['source'], set: affinity.name }, target),
        rule({ kind: 'chance', hits: 1, of: 3 }, target),
        rule({ kind: 'chance', hits: 3, of: 10 }, target),
        rule({ kind: 'remember source', set: affinity.name }),
        ...(['chance', 'turn', 'source', 'flow'] as const).map((by) =>
          rule({ kind: 'dnat by map', fields, choices: 7, by, map: endpoints.name }),
        ),
        commentedRule(
          'max-connections',
          { kind: 'open connections over', most: 10, set: openConnections.name },
          target,
        ),
        // nft leaves out a burst of 5, which it takes for granted.
        ...[1, 5, 6, 60, 10_000_000].map((perSecond) => rule({ kind: 'dials over', perSecond }, target)),
        rule({ kind: 'in set', fields, set: services.name }),
        rule({ kind: 'reset' }),
        rule({ kind: 'reject' }),
        rule({ kind: 'protocol', protocol: 'TCP' }, { kind: 'dnat', ip: ip(5), port: 8080 }),
      ]
      const add = rules.map((it): NftOperation => ({ do: 'add rule', chain: 'spare', rule: it }))
      await using table = await filled(...add)
      const written = new Map([
        ['spare', rules.map((it) => renderRule(it, family))],
        ['nat-prerouting', [expect.stringContaining('by address') as string]],
      ])
      expect(await table.rules(['spare', 'nat-prerouting', 'none'], signal)).toEqual(written)
      const many = Array.from({ length: 20 }, (_, n) => `none-${n}`)
      expect(await table.rules([...many, 'nat-prerouting', 'spare'], signal)).toEqual(written)
      await table.commit([{ do: 'flush chain', name: 'spare' }], signal)
      expect(await table.rules(['spare'], signal)).toEqual(new Map([['spare', []]]))
    })

    test('takes what is there already', async () => {
      const again: NftOperation = { do: 'add elements', set: services, elements: [{ key: web, value: 'goto pick-2' }] }
      await using table = await filled(again)
      await table.commit([...sample.setUp.filter(({ do: verb }) => verb !== 'add rule'), again, again], signal)
      expect(await found(table, services)).toEqual({ [web]: 'goto pick-2' })
    })

    test('takes nothing at all', async () => {
      await using table = await open()
      await table.commit([], signal)
      expect(await table.list(signal)).toBeUndefined()
    })

    test('changes a value by deleting and adding in one transaction', async () => {
      await using table = await filled({ do: 'add elements', set: services, elements: [{ key: web, value: 'drop' }] })
      await table.commit(
        [
          { do: 'delete elements', set: services, keys: [web] },
          { do: 'add elements', set: services, elements: [{ key: web, value: 'goto pick-2' }] },
        ],
        signal,
      )
      expect(await found(table, services)).toEqual({ [web]: 'goto pick-2' })
    })

    test('deletes a chain together with the last element that leads to it', async () => {
      const elements = [{ key: web, value: 'goto spare' }]
      await using table = await filled({ do: 'add elements', set: services, elements })
      await table.commit(
        [
          { do: 'delete elements', set: services, keys: [web] },
          { do: 'delete chain', name: 'spare' },
        ],
        signal,
      )
      expect((await table.list(signal))?.chains).not.toContain('spare')
    })

    test('deletes a set, and a chain that its elements lead to', async () => {
      const elements = [{ key: 'udp . 30053', value: 'goto spare' }]
      await using table = await filled({ do: 'add elements', set: nodePorts, elements })
      await table.commit(
        [
          { do: 'delete set', set: nodePorts },
          { do: 'flush chain', name: 'spare' },
          { do: 'delete chain', name: 'spare' },
        ],
        signal,
      )
      const listing = await table.list(signal)
      expect([...(listing?.sets ?? []), ...(listing?.chains ?? [])]).not.toEqual(
        expect.arrayContaining(['nodeports', 'spare']),
      )
    })

    test('deletes the table with all that is in it', async () => {
      await using table = await filled({ do: 'add elements', set: clusterIps, elements: [{ key: ip(1) }] })
      await table.commit([{ do: 'delete table' }], signal)
      expect(await table.list(signal)).toBeUndefined()
      expect(await table.elements(clusterIps, signal)).toEqual(new Map())
      await table.commit(sample.setUp, signal)
      expect(await table.elements(clusterIps, signal)).toEqual(new Map())
    })

    test('takes names and comments as long as they come', async () => {
      const set: SetDeclaration = { name: `affinity/${'x'.repeat(246)}`, key: services.key, comment: 'c'.repeat(200) }
      const elements = [{ key: web, comment: `"${'demo/web:http '.repeat(20)}` }]
      await using table = await filled({ do: 'add set', set }, { do: 'add elements', set, elements })
      expect(await found(table, set)).toEqual({ [web]: '' })
    })

    test('holds thousands of elements', async () => {
      const elements = Array.from({ length: 3000 }, (_, n) => ({
        key: `${ip(n)} . tcp . ${n + 1}`,
        value: 'goto pick-2',
        comment: `demo/service-${n}:http`,
      }))
      await using table = await filled({ do: 'add elements', set: services, elements })
      expect((await table.elements(services, signal)).size).toBe(3000)
      const keys = elements.slice(1).map(({ key }) => key)
      await table.commit([{ do: 'delete elements', set: services, keys }], signal)
      expect(await found(table, services)).toEqual({ [`${ip(0)} . tcp . 1`]: 'goto pick-2' })
    })

    const taken: NftOperation = { do: 'add elements', set: services, elements: [{ key: web, value: 'drop' }] }
    const refusals: readonly (readonly [string, string, NftOperation, string?])[] = [
      [
        'an element with another value',
        'exists',
        { do: 'add elements', set: services, elements: [{ key: web, value: 'accept' }] },
        web,
      ],
      [
        'a verdict that leads to no chain',
        'missing',
        { do: 'add elements', set: services, elements: [{ key: `${ip(9)} . tcp . 80`, value: 'goto nowhere' }] },
        `${ip(9)} . tcp . 80`,
      ],
      [
        'an element of no set',
        'missing',
        { do: 'add elements', set: { ...clusterIps, name: 'no-such-set' }, elements: [{ key: ip(1) }] },
        'no-such-set',
      ],
      [
        'deleting an element that is not there',
        'missing',
        { do: 'delete elements', set: clusterIps, keys: [ip(9)] },
        ip(9),
      ],
      ['a key that is none', 'refused', { do: 'add elements', set: clusterIps, elements: [{ key: 'not an address' }] }],
      [
        'prefixes that overlap at the end of a key',
        'exists',
        {
          do: 'add elements',
          set: ranges,
          elements: [{ key: `${web} . ${ip(0)}/${hostLength - 8}` }, { key: `${web} . ${ip(16)}/${hostLength - 4}` }],
        },
        `${ip(16)}/${hostLength - 4}`,
      ],
      [
        'lone prefixes that overlap',
        'exists',
        {
          do: 'add elements',
          set: cidrs,
          elements: [{ key: `${ip(0)}/${hostLength - 8}` }, { key: `${ip(16)}/${hostLength - 4}` }],
        },
      ],
      [
        'deleting a lone prefix that is not there',
        'missing',
        { do: 'delete elements', set: cidrs, keys: [`${ip(0)}/${hostLength - 8}`] },
        `${ip(0)}/${hostLength - 8}`,
      ],
      ['deleting a chain that is not there', 'missing', { do: 'delete chain', name: 'no-such-chain' }, 'no-such-chain'],
      ['emptying a chain that is not there', 'missing', { do: 'flush chain', name: 'no-such-chain' }, 'no-such-chain'],
      [
        'deleting a set that is not there',
        'missing',
        { do: 'delete set', set: { name: 'no-such-set' } },
        'no-such-set',
      ],
      ['deleting a set that a rule uses', 'busy', { do: 'delete set', set: services }, 'services'],
      ['a rule in no chain', 'missing', { do: 'add rule', chain: 'no-such-chain', rule: rule({ kind: 'drop' }) }],
      [
        'a rule that leads to no chain',
        'missing',
        { do: 'add rule', chain: 'spare', rule: rule({ kind: 'goto', chain: 'nowhere' }) },
      ],
      [
        'another type for a set',
        'exists',
        { do: 'add set', set: { ...clusterIps, key: ['inet_service'] } },
        'cluster-ips',
      ],
      [
        'another type for a chain',
        'exists',
        {
          do: 'add chain',
          chain: {
            name: 'nat-prerouting',
            hook: { type: 'filter', hook: 'prerouting', priority: -100 },
            comment: '',
          },
        },
        'nat-prerouting',
      ],
      [
        'another priority for a chain',
        'exists',
        {
          do: 'add chain',
          chain: { name: 'nat-prerouting', hook: { type: 'nat', hook: 'prerouting', priority: -90 }, comment: '' },
        },
        'nat-prerouting',
      ],
    ]
    for (const [what, reason, operation, named = ''] of refusals)
      test(`refuses ${what}, and then changes nothing`, async () => {
        await using table = await filled(taken)
        const transaction: NftOperation[] = [
          { do: 'add elements', set: nodePorts, elements: [{ key: 'tcp . 30000', value: 'drop' }] },
          operation,
          { do: 'add elements', set: nodePorts, elements: [{ key: 'tcp . 30001', value: 'drop' }] },
        ]
        const error = { name: 'NftError', reason, message: expect.stringContaining(named) }
        await expect(table.check(transaction, signal)).rejects.toMatchObject(error)
        await expect(table.commit(transaction, signal)).rejects.toMatchObject(error)
        expect(await found(table, nodePorts)).toEqual({})
        expect(await found(table, services)).toEqual({ [web]: 'drop' })
      })

    test('refuses to delete a chain that an element leads to', async () => {
      const elements = [{ key: web, value: 'goto spare' }]
      await using table = await filled({ do: 'add elements', set: services, elements })
      await expect(table.commit([{ do: 'delete chain', name: 'spare' }], signal)).rejects.toMatchObject({
        reason: 'busy',
        message: expect.stringContaining('spare'),
      })
    })

    test('refuses to delete a chain that a rule leads to', async () => {
      await using table = await filled({
        do: 'add rule',
        chain: 'nat-prerouting',
        rule: rule({ kind: 'jump', chain: 'spare' }),
      })
      await expect(table.commit([{ do: 'delete chain', name: 'spare' }], signal)).rejects.toMatchObject({
        reason: 'busy',
      })
    })

    const pickOne: Statement = {
      kind: 'dnat by map',
      fields: ['destination', 'protocol', 'port'],
      choices: 1,
      by: 'chance',
      map: endpoints.name,
    }
    const evil = 'x\nadd rule ip fairlead spare accept'
    const withControlCharacters: readonly (readonly [string, NftOperation])[] = [
      [
        'the comment of an element',
        { do: 'add elements', set: services, elements: [{ key: web, value: 'drop', comment: evil }] },
      ],
      ['the comment of a chain', { do: 'add chain', chain: { name: 'more', comment: evil } }],
      ['the name of a chain', { do: 'add chain', chain: { name: evil, comment: '' } }],
      ['the name of a chain to be emptied', { do: 'flush chain', name: evil }],
      ['the name of a set', { do: 'delete set', set: { ...services, name: evil } }],
      [
        'the set of a rule',
        { do: 'add rule', chain: 'spare', rule: rule({ kind: 'in set', fields: ['destination'], set: evil }) },
      ],
      ['the comment of a rule', { do: 'add rule', chain: 'spare', rule: commentedRule(evil, { kind: 'drop' }) }],
      [
        'the comment of a rule that picks an endpoint',
        { do: 'add rule', chain: 'spare', rule: commentedRule(evil, pickOne) },
      ],
      ['the map of a rule that picks', { do: 'add rule', chain: 'spare', rule: rule({ ...pickOne, map: evil }) }],
      [
        'where an element leads',
        { do: 'add elements', set: services, elements: [{ key: web, value: `goto ${evil}` }] },
      ],
    ]
    for (const [what, operation] of withControlCharacters)
      test(`refuses a control character in ${what}, and then changes nothing`, async () => {
        await using table = await filled()
        const transaction: NftOperation[] = [
          { do: 'add elements', set: nodePorts, elements: [{ key: 'tcp . 30000', value: 'drop' }] },
          operation,
        ]
        const error = { name: 'NftError', reason: 'refused', message: expect.stringContaining(String.raw`x\nadd rule`) }
        await expect(table.check(transaction, signal)).rejects.toMatchObject(error)
        await expect(table.commit(transaction, signal)).rejects.toMatchObject(error)
        expect(await found(table, nodePorts)).toEqual({})
      })

    test('refuses to delete a table that is not there', async () => {
      await using table = await open()
      await expect(table.commit([{ do: 'delete table' }], signal)).rejects.toMatchObject({ reason: 'missing' })
    })

    test('checks a good transaction without doing it', async () => {
      await using table = await filled()
      await table.check([taken], signal)
      expect(await found(table, services)).toEqual({})
    })

    test('does nothing once the signal is aborted', async () => {
      await using table = await filled()
      const stopped = AbortSignal.abort(new Error('stopping'))
      await expect(table.commit([taken], stopped)).rejects.toThrow('stopping')
      await expect(table.check([taken], stopped)).rejects.toThrow('stopping')
      await expect(table.list(stopped)).rejects.toThrow('stopping')
      await expect(table.elements(services, stopped)).rejects.toThrow('stopping')
      expect(await found(table, services)).toEqual({})
    })
  })
}
