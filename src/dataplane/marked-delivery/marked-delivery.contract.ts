/** The tests that every MarkedDelivery passes: in the kernel, or in memory. */
import { expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import type { DeliveryNumbers, MarkedDelivery } from './marked-delivery.ts'

/** `make` returns a machine without such a rule. */
export function markedDeliveryContract(name: string, make: (numbers: DeliveryNumbers) => MarkedDelivery): void {
  const { signal } = new AbortController()
  const numbers = { mark: 0x100, table: 777, priority: 33 }

  for (const family of families) {
    test(`${name} adds a rule, finds it, and removes it (${family})`, async () => {
      const delivery = make(numbers)
      expect(await delivery.isThere(family, signal)).toBe(false)
      await delivery.ensure(family, signal)
      expect(await delivery.isThere(family, signal)).toBe(true)
      await delivery.remove(family, signal)
      expect(await delivery.isThere(family, signal)).toBe(false)
    })

    test(`${name} takes it well when the rule is there already, or gone already (${family})`, async () => {
      const delivery = make(numbers)
      await delivery.remove(family, signal)
      await delivery.ensure(family, signal)
      await delivery.ensure(family, signal)
      await delivery.remove(family, signal)
      expect(await delivery.isThere(family, signal)).toBe(false)
    })
  }

  test(`${name} keeps the families apart`, async () => {
    const delivery = make(numbers)
    await delivery.ensure('ipv6', signal)
    expect(await delivery.isThere('ipv4', signal)).toBe(false)
  })

  test(`${name} stops when it is aborted`, async () => {
    await expect(make(numbers).ensure('ipv4', AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping')
  })
}
