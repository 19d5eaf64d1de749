/** The tests that every Ipset passes: through the command, or in memory. */
import { describe, expect, test } from 'vitest'
import type { EntryChange, IpSet, Ipset, ListedSet } from './ipset.ts'

export interface IpsetUnderTest {
  readonly ipset: Ipset
  /** Adds a rule that refers to the set, which must be a hash:ip. */
  readonly use: (name: string) => Promise<void>
}

const addresses = { name: 'FL-IPS', type: 'hash:ip', family: 'ipv4' } as const
const services = { name: 'FL-SERVICES', type: 'hash:ip,port', family: 'ipv4' } as const
const loops = { name: 'FL-LOOPS', type: 'hash:ip,port,ip', family: 'ipv4' } as const
const sources = { name: 'FL-SOURCES', type: 'hash:ip,port,net', family: 'ipv4' } as const
const sources6 = { name: 'FL-6-SOURCES', type: 'hash:ip,port,net', family: 'ipv6' } as const
const ports = { name: 'FL-PORTS', type: 'bitmap:port' } as const

/** `make` returns a machine without sets. */
export function ipsetContract(name: string, make: () => Promise<IpsetUnderTest>): void {
  const { signal } = new AbortController()

  describe(`IP sets by ${name}`, () => {
    test('lists nothing where there is nothing', async () => {
      const { ipset } = await make()
      expect(await ipset.list([], signal)).toEqual([])
      expect(await ipset.list(['FL-NONE'], signal)).toEqual([])
    })

    test('makes sets of every type, and lists those that are named and exist', async () => {
      const { ipset } = await make()
      await ipset.ensure([addresses, services, loops, sources, sources6, ports], signal)
      const empty = new Set<string>()
      expect(
        byName(await ipset.list(['FL-PORTS', 'FL-NONE', 'FL-SERVICES', 'FL-6-SOURCES', 'FL-LOOPS'], signal)),
      ).toEqual([
        { name: 'FL-6-SOURCES', type: 'hash:ip,port,net', family: 'ipv6', entries: empty },
        { name: 'FL-LOOPS', type: 'hash:ip,port,ip', family: 'ipv4', entries: empty },
        { name: 'FL-PORTS', type: 'bitmap:port', family: undefined, entries: empty },
        { name: 'FL-SERVICES', type: 'hash:ip,port', family: 'ipv4', entries: empty },
      ])
    })

    test('leaves a set as it is that is there with the same parameters', async () => {
      const { ipset } = await make()
      await ipset.ensure([services], signal)
      await succeed(ipset, [add(services, '10.96.0.10,tcp:80')])
      await ipset.ensure([addresses, services], signal)
      expect(await entriesOf(ipset, services)).toEqual(['10.96.0.10,tcp:80'])
    })

    test('refuses to make a set whose name another one has, and names it', async () => {
      const { ipset } = await make()
      await ipset.ensure([services, addresses], signal)
      const expected = { name: 'IpsetError', reason: 'exists', message: expect.stringContaining('FL-SERVICES') }
      await expect(ipset.ensure([addresses, { ...services, type: 'hash:ip' }], signal)).rejects.toMatchObject(expected)
      await expect(ipset.ensure([{ ...services, maxElements: 7 }], signal)).rejects.toMatchObject(expected)
    })

    test('adds and deletes entries of every type, and lists them in canonical text', async () => {
      const { ipset } = await make()
      await ipset.ensure([addresses, services, loops, sources, sources6, ports], signal)
      await succeed(ipset, [
        add(addresses, '10.96.0.10'),
        add(services, '10.96.0.10,tcp:80'),
        add(services, '10.96.0.10,udp:53'),
        add(services, '10.96.0.11,sctp:9'),
        add(loops, '10.64.0.1,tcp:8080,10.64.0.1'),
        add(sources, '10.96.0.10,tcp:80,192.0.2.0/24'),
        add(sources, '10.96.0.10,tcp:80,192.0.2.2/32'),
        add(sources, '10.96.0.10,tcp:80,198.51.100.7'),
        add(sources6, 'fd00:96::10,tcp:80,2001:db8::/32'),
        add(sources6, 'fd00:96::10,tcp:80,2001:db8::1/128'),
        add(ports, '30080'),
        add(ports, '30081'),
        { kind: 'delete', set: 'FL-PORTS', entry: '30081' },
        { kind: 'delete', set: 'FL-SERVICES', entry: '10.96.0.10,udp:53' },
      ])
      expect(await entriesOf(ipset, addresses)).toEqual(['10.96.0.10'])
      expect(await entriesOf(ipset, services)).toEqual(['10.96.0.10,tcp:80', '10.96.0.11,sctp:9'])
      expect(await entriesOf(ipset, loops)).toEqual(['10.64.0.1,tcp:8080,10.64.0.1'])
      expect(await entriesOf(ipset, sources)).toEqual([
        '10.96.0.10,tcp:80,192.0.2.0/24',
        '10.96.0.10,tcp:80,192.0.2.2',
        '10.96.0.10,tcp:80,198.51.100.7',
      ])
      expect(await entriesOf(ipset, sources6)).toEqual([
        'fd00:96::10,tcp:80,2001:db8::/32',
        'fd00:96::10,tcp:80,2001:db8::1',
      ])
      expect(await entriesOf(ipset, ports)).toEqual(['30080'])
    })

    test('takes it well when an entry is there already, or gone already', async () => {
      const { ipset } = await make()
      await ipset.ensure([services], signal)
      const web = add(services, '10.96.0.10,tcp:80')
      await succeed(ipset, [web, web, { ...web, kind: 'delete' }, { ...web, kind: 'delete' }])
      expect(await entriesOf(ipset, services)).toEqual([])
    })

    test('goes on after a change that fails, and says which one and why', async () => {
      const { ipset } = await make()
      await ipset.ensure([services, sources, ports], signal)
      const errors = await ipset.apply(
        [
          add(services, '10.96.0.1,tcp:80'),
          add(services, 'nonsense'),
          add(services, '10.96.0.2'),
          add(services, 'fd00:96::10,tcp:80'),
          add(sources, '10.96.0.10,tcp:80,0.0.0.0/0'),
          { kind: 'add', set: 'FL-NONE', entry: '10.96.0.1,tcp:80' },
          { kind: 'delete', set: 'FL-NONE', entry: '10.96.0.1,tcp:80' },
          add(ports, '70000'),
          add(services, '10.96.0.3,tcp:80'),
        ],
        signal,
      )
      expect(reasons(errors)).toEqual([
        [1, 'refused'],
        [2, 'refused'],
        [3, 'refused'],
        [4, 'refused'],
        [5, 'not-found'],
        [6, 'not-found'],
        [7, 'refused'],
      ])
      expect(errors.get(5)?.message).toContain('10.96.0.1,tcp:80')
      expect(errors.get(5)?.message).toContain('FL-NONE')
      expect(await entriesOf(ipset, services)).toEqual(['10.96.0.1,tcp:80', '10.96.0.3,tcp:80'])
    })

    test('says of each entry that a full set has no room for it', async () => {
      const { ipset } = await make()
      const small: IpSet = { ...addresses, maxElements: 2 }
      await ipset.ensure([small, services], signal)
      const errors = await ipset.apply(
        [
          add(small, '10.96.0.1'),
          add(small, '10.96.0.2'),
          add(small, '10.96.0.3'),
          add(small, '10.96.0.4'),
          add(services, '10.96.0.1,tcp:80'),
          { kind: 'delete', set: small.name, entry: '10.96.0.1' },
          add(small, '10.96.0.5'),
        ],
        signal,
      )
      expect(reasons(errors)).toEqual([
        [2, 'full'],
        [3, 'full'],
      ])
      expect(await entriesOf(ipset, small)).toEqual(['10.96.0.2', '10.96.0.5'])
      expect(await entriesOf(ipset, services)).toEqual(['10.96.0.1,tcp:80'])
    })

    test('carries out thousands of changes at once', async () => {
      const { ipset } = await make()
      await ipset.ensure([services], signal)
      const entries = Array.from({ length: 3000 }, (_, index) => `10.97.${index >> 8}.${index & 255},tcp:80`)
      await succeed(
        ipset,
        entries.map((entry) => add(services, entry)),
      )
      expect(new Set(await entriesOf(ipset, services))).toEqual(new Set(entries))
    })

    test('swaps the contents of two sets of one type', async () => {
      const { ipset } = await make()
      const other: IpSet = { ...services, name: 'FL-OTHER' }
      await ipset.ensure([services, other, addresses], signal)
      await succeed(ipset, [add(services, '10.96.0.10,tcp:80')])
      await ipset.swap(services.name, other.name, signal)
      expect(await entriesOf(ipset, services)).toEqual([])
      expect(await entriesOf(ipset, other)).toEqual(['10.96.0.10,tcp:80'])
      await expect(ipset.swap(services.name, addresses.name, signal)).rejects.toMatchObject({ reason: 'refused' })
      await expect(ipset.swap(services.name, 'FL-NONE', signal)).rejects.toMatchObject({ reason: 'not-found' })
    })

    test('empties a set, and destroys it', async () => {
      const { ipset } = await make()
      await ipset.ensure([services], signal)
      await succeed(ipset, [add(services, '10.96.0.10,tcp:80')])
      await ipset.flush(services.name, signal)
      expect(await entriesOf(ipset, services)).toEqual([])
      await ipset.destroy(services.name, signal)
      expect(await ipset.list([services.name], signal)).toEqual([])
      await ipset.destroy(services.name, signal)
      await expect(ipset.flush(services.name, signal)).rejects.toMatchObject({ reason: 'not-found' })
    })

    test('does not destroy a set that a rule refers to', async () => {
      const { ipset, use } = await make()
      await ipset.ensure([addresses], signal)
      await use(addresses.name)
      await expect(ipset.destroy(addresses.name, signal)).rejects.toMatchObject({
        reason: 'in-use',
        message: expect.stringContaining(addresses.name) as string,
      })
    })

    test('refuses a control character in the name of a set, and then changes nothing', async () => {
      const { ipset } = await make()
      await ipset.ensure([services], signal)
      const name = `FL-X hash:ip\nadd ${services.name} 10.96.0.66,tcp:80\ncreate FL-Y`
      const refused = { reason: 'refused', message: expect.stringContaining(String.raw`FL-X hash:ip\nadd`) as string }
      await expect(ipset.ensure([{ ...addresses, name }], signal)).rejects.toMatchObject(refused)
      await expect(ipset.apply([add({ ...addresses, name }, '10.96.0.1')], signal)).rejects.toMatchObject(refused)
      const entry = `10.96.0.1,tcp:80\nadd ${services.name} 10.96.0.66,tcp:80`
      expect(reasons(await ipset.apply([add(services, entry)], signal))).toEqual([[0, 'refused']])
      expect(await entriesOf(ipset, services)).toEqual([])
    })

    test('stops when it is aborted', async () => {
      const { ipset } = await make()
      const aborted = AbortSignal.abort(new Error('stopping'))
      await expect(ipset.ensure([services], aborted)).rejects.toThrow('stopping')
      await expect(ipset.apply([add(services, '10.96.0.10,tcp:80')], aborted)).rejects.toThrow('stopping')
      await expect(ipset.list([services.name], aborted)).rejects.toThrow('stopping')
    })
  })

  async function succeed(ipset: Ipset, changes: readonly EntryChange[]): Promise<void> {
    expect(reasons(await ipset.apply(changes, signal))).toEqual([])
  }

  async function entriesOf(ipset: Ipset, { name: setName }: IpSet): Promise<readonly string[]> {
    const [listed] = await ipset.list([setName], signal)
    return [...(listed?.entries ?? [])].toSorted()
  }
}

function add({ name }: IpSet, entry: string): EntryChange {
  return { kind: 'add', set: name, entry }
}

function byName(sets: readonly ListedSet[]): readonly ListedSet[] {
  return sets.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function reasons(errors: Awaited<ReturnType<Ipset['apply']>>): readonly (readonly [number, string])[] {
  return Array.from(errors, ([index, { reason }]) => [index, reason] as const).toSorted(([a], [b]) => a - b)
}
