/** The tests that every Nfacct passes: in the kernel, or in memory. */
import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import type { Nfacct } from './nfacct.ts'
import { isNfacctUsable } from './probe-nfacct.ts'

export interface NfacctUnderTest {
  readonly nfacct: Nfacct
  /** Sends a packet of 100 bytes through a rule that names the counter. */
  readonly count: (name: string) => Promise<void>
  /** Adds a rule that names the counter. */
  readonly use: (name: string) => void
}

/** `make` returns an empty set of counters. */
export function nfacctContract(name: string, make: () => Promise<NfacctUnderTest>): void {
  const { signal } = new AbortController()

  test(`${name} says that it is usable`, async () => {
    const { nfacct } = await make()
    expect(await isNfacctUsable(nfacct, silentLogger, signal)).toBe(true)
  })

  test(`${name} knows nothing of a counter before it is made, and reads zero after`, async () => {
    const { nfacct } = await make()
    expect(await nfacct.read('dropped', signal)).toBeUndefined()
    await nfacct.ensure('dropped', signal)
    expect(await nfacct.read('dropped', signal)).toEqual({ packets: 0, bytes: 0 })
    expect(await nfacct.read('droppe', signal)).toBeUndefined()
  })

  test(`${name} counts packets and bytes, and keeps the count when the counter is ensured again`, async () => {
    const { nfacct, count } = await make()
    await nfacct.ensure('dropped', signal)
    await nfacct.ensure('accepted', signal)
    for (let packet = 0; packet < 3; packet++) await count('dropped')
    await nfacct.ensure('dropped', signal)
    expect(await nfacct.read('dropped', signal)).toEqual({ packets: 3, bytes: 300 })
    expect(await nfacct.read('accepted', signal)).toEqual({ packets: 0, bytes: 0 })
  })

  test(`${name} removes a counter, and it alone`, async () => {
    const { nfacct } = await make()
    await nfacct.ensure('dropped', signal)
    await nfacct.ensure('accepted', signal)
    await nfacct.remove('dropped', signal)
    await nfacct.remove('dropped', signal)
    expect(await nfacct.read('dropped', signal)).toBeUndefined()
    expect(await nfacct.read('accepted', signal)).toEqual({ packets: 0, bytes: 0 })
  })

  test(`${name} does not remove a counter that a rule names`, async () => {
    const { nfacct, use } = await make()
    await nfacct.ensure('dropped', signal)
    use('dropped')
    await expect(nfacct.remove('dropped', signal)).rejects.toMatchObject({ name: 'NfacctError', reason: 'in-use' })
    expect(await nfacct.read('dropped', signal)).toBeDefined()
  })

  test(`${name} takes a name of 31 bytes and refuses a longer one or none`, async () => {
    const { nfacct } = await make()
    const longest = 'n'.repeat(31)
    await nfacct.ensure(longest, signal)
    expect(await nfacct.read(longest, signal)).toEqual({ packets: 0, bytes: 0 })
    for (const wrong of [`${longest}n`, '']) {
      await expect(nfacct.ensure(wrong, signal)).rejects.toMatchObject({ name: 'NfacctError', reason: 'bad-name' })
      await expect(nfacct.remove(wrong, signal)).rejects.toMatchObject({ name: 'NfacctError', reason: 'bad-name' })
      await expect(nfacct.read(wrong, signal)).rejects.toMatchObject({ name: 'NfacctError', reason: 'bad-name' })
    }
  })

  test(`${name} does nothing once it is aborted`, async () => {
    const { nfacct } = await make()
    const aborted = AbortSignal.abort(new Error('stopping'))
    await expect(nfacct.ensure('dropped', aborted)).rejects.toThrow('stopping')
    expect(await nfacct.read('dropped', signal)).toBeUndefined()
  })
}
