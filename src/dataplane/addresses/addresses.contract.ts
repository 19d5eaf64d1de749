/** The tests that every Addresses passes: over netlink, or in memory. */
import { describe, expect, test } from 'vitest'
import type { Addresses, LinkAddress } from './addresses.ts'
import { linksContract } from './links.contract.ts'

export interface AddressesUnderTest {
  readonly addresses: Addresses
  /** Not a dummy link. It has the address 192.0.2.7/24. */
  readonly otherLink: string
}

const link = 'fl-ipvs0'

export function addressesContract(name: string, make: () => Promise<AddressesUnderTest>): void {
  const { signal } = new AbortController()

  describe(`addresses by ${name}`, () => {
    test('lists the addresses of every link with their prefix length', async () => {
      const { addresses, otherLink } = await make()
      expect(await addresses.list(signal)).toContainEqual({ link: otherLink, ip: '192.0.2.7', prefixLength: 24 })
    })

    test('gives a dummy link addresses of both families, and takes them away', async () => {
      const { addresses } = await make()
      await addresses.ensureDummy(link, signal)
      expect(await onDummy(addresses)).toEqual([])
      await succeed(addresses.add(link, ['10.96.0.10', 'fd00:96::10', '10.96.0.11'], signal))
      expect(await onDummy(addresses)).toEqual([
        { link, ip: '10.96.0.10', prefixLength: 32 },
        { link, ip: '10.96.0.11', prefixLength: 32 },
        { link, ip: 'fd00:96::10', prefixLength: 128 },
      ])
      await succeed(addresses.remove(link, ['10.96.0.10', 'fd00:96::10'], signal))
      expect((await onDummy(addresses)).map(({ ip }) => ip)).toEqual(['10.96.0.11'])
    })

    test('takes it well when an address is there already, or gone already', async () => {
      const { addresses } = await make()
      await addresses.ensureDummy(link, signal)
      await succeed(addresses.add(link, ['10.96.0.10', '10.96.0.10', 'fd00:96::10'], signal))
      await succeed(addresses.add(link, ['10.96.0.10', 'fd00:96::10', '10.96.0.11'], signal))
      await succeed(addresses.remove(link, ['10.96.0.10', '10.96.0.12', 'fd00:96::12', 'fd00:96::10'], signal))
      expect((await onDummy(addresses)).map(({ ip }) => ip)).toEqual(['10.96.0.11'])
    })

    test('gives a link an address that another link has, too', async () => {
      const { addresses, otherLink } = await make()
      await addresses.ensureDummy(link, signal)
      await succeed(addresses.add(link, ['192.0.2.7'], signal))
      const holders = (await addresses.list(signal)).filter(({ ip }) => ip === '192.0.2.7')
      expect(new Set(holders.map((holder) => holder.link))).toEqual(new Set([link, otherLink]))
    })

    test('carries out thousands of changes', async () => {
      const { addresses } = await make()
      await addresses.ensureDummy(link, signal)
      const ips = Array.from({ length: 2000 }, (_, index) => `10.97.${index >> 8}.${index & 255}`)
      await succeed(addresses.add(link, ips, signal))
      expect(new Set((await onDummy(addresses)).map(({ ip }) => ip))).toEqual(new Set(ips))
      await succeed(addresses.remove(link, ips.slice(1), signal))
      expect((await onDummy(addresses)).map(({ ip }) => ip)).toEqual(ips.slice(0, 1))
    })

    test('leaves a link alone that has the name already, whatever it is', async () => {
      const { addresses, otherLink } = await make()
      await addresses.ensureDummy(link, signal)
      await succeed(addresses.add(link, ['10.96.0.10'], signal))
      await addresses.ensureDummy(link, signal)
      await addresses.ensureDummy(otherLink, signal)
      expect(await onDummy(addresses)).toHaveLength(1)
      expect(await addresses.list(signal)).toContainEqual({ link: otherLink, ip: '192.0.2.7', prefixLength: 24 })
    })

    test('says so when there is no such link', async () => {
      const { addresses } = await make()
      const expected = {
        reason: 'no-such-link',
        message: `cannot change the addresses of ${link}: there is no such link`,
      }
      await expect(addresses.add(link, ['10.96.0.10'], signal)).rejects.toMatchObject(expected)
      await expect(addresses.remove(link, ['10.96.0.10'], signal)).rejects.toMatchObject(expected)
    })

    test('stops when it is aborted', async () => {
      const { addresses } = await make()
      const aborted = AbortSignal.abort(new Error('stopping'))
      await expect(addresses.list(aborted)).rejects.toThrow('stopping')
      await expect(addresses.ensureDummy(link, aborted)).rejects.toThrow('stopping')
    })
  })

  linksContract(name, async () => {
    const { addresses, otherLink } = await make()
    await addresses.ensureDummy(link, signal)
    await succeed(addresses.add(link, ['10.96.0.10', 'fd00:96::10'], signal))
    return { links: addresses, dummy: link, otherLink }
  })

  async function onDummy(addresses: Addresses): Promise<readonly LinkAddress[]> {
    const all = await addresses.list(signal)
    return all.filter((address) => address.link === link).toSorted((a, b) => (a.ip < b.ip ? -1 : 1))
  }
}

async function succeed(work: Promise<ReadonlyMap<string, Error>>): Promise<void> {
  expect(await work).toEqual(new Map())
}
