/** The tests that every Links passes: over netlink, through the command, or in memory. */
import { describe, expect, test } from 'vitest'
import type { Links } from './addresses.ts'

export interface LinksUnderTest {
  readonly links: Links
  /** A dummy link with the addresses 10.96.0.10 and fd00:96::10. */
  readonly dummy: string
  /** A veth with the address 192.0.2.7. */
  readonly otherLink: string
}

export function linksContract(name: string, make: () => Promise<LinksUnderTest>): void {
  const { signal } = new AbortController()

  describe(`links by ${name}`, () => {
    test('tells the kind of a link and its addresses', async () => {
      const { links, dummy, otherLink } = await make()
      expect(await links.find(dummy, signal)).toEqual({ kind: 'dummy', ips: ['10.96.0.10', 'fd00:96::10'] })
      expect(await links.find(otherLink, signal)).toEqual({ kind: 'veth', ips: ['192.0.2.7'] })
      expect(await links.find('fl-none', signal)).toBeUndefined()
    })

    test('removes a dummy link with its addresses, and no other link', async () => {
      const { links, dummy, otherLink } = await make()
      await links.removeDummy(dummy, signal)
      await links.removeDummy(dummy, signal)
      expect(await links.find(dummy, signal)).toBeUndefined()
      await expect(links.removeDummy(otherLink, signal)).rejects.toMatchObject({
        name: 'AddressError',
        reason: 'not-dummy',
        message: `cannot remove the link ${otherLink}: it is a veth, not a dummy link`,
      })
      expect(await links.find(otherLink, signal)).toBeDefined()
    })

    test('stops when it is aborted', async () => {
      const { links, dummy } = await make()
      const aborted = AbortSignal.abort(new Error('stopping'))
      await expect(links.find(dummy, aborted)).rejects.toThrow('stopping')
      await expect(links.removeDummy(dummy, aborted)).rejects.toThrow('stopping')
    })
  })
}
