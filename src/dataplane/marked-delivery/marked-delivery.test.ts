import { describe, expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import { openNetlink } from '../netlink/open-netlink.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { markedDeliveryContract } from './marked-delivery.contract.ts'
import type { DeliveryNumbers } from './marked-delivery.ts'
import { MemoryMarkedDelivery } from './memory-marked-delivery.ts'
import { netlinkMarkedDelivery } from './netlink-marked-delivery.ts'

const { signal } = new AbortController()

markedDeliveryContract('MemoryMarkedDelivery', (numbers) => new MemoryMarkedDelivery(numbers))

const missing = missingForNamespace('ip')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  const onFreshMachine = (numbers: DeliveryNumbers) => {
    enterFreshNamespace()
    return netlinkMarkedDelivery({ open: openNetlink, numbers })
  }
  markedDeliveryContract('netlinkMarkedDelivery', onFreshMachine)

  test.each(families)(
    'it is what `ip rule` and `ip route` would make, and nothing else is touched (%s)',
    async (family) => {
      const ip = `ip -${family === 'ipv4' ? 4 : 6}`
      const delivery = onFreshMachine({ mark: 0x1000, table: 4096, priority: 90 })
      const before = run(`${ip} rule`)
      await delivery.ensure(family, signal)
      expect(run(`${ip} rule`)).toContain(
        [
          '89:\tfrom all fwmark 0x1000/0x1000 iif lo goto 91',
          '90:\tfrom all fwmark 0x1000/0x1000 lookup 4096',
          '91:\tfrom all fwmark 0x1000/0x1000 nop',
        ].join('\n'),
      )
      expect(run(`${ip} route show table 4096`)).toMatch(/^local default dev lo /)
      run(`${ip} rule add priority 92 fwmark 0x1000/0x1000 lookup 4097`)
      await delivery.remove(family, signal)
      run(`${ip} rule delete priority 92`)
      expect(run(`${ip} rule`)).toBe(before)
      expect(run(`${ip} route show table all`)).not.toContain('4096')
    },
  )

  test.each(families)('what somebody made by hand goes too (%s)', async (family) => {
    const ip = `ip -${family === 'ipv4' ? 4 : 6}`
    const delivery = onFreshMachine({ mark: 0x1000, table: 4096, priority: 90 })
    run(`${ip} rule add priority 90 fwmark 0x1000/0x1000 lookup 4096; ${ip} route add local default dev lo table 4096`)
    await delivery.remove(family, signal)
    expect(run(`${ip} rule; ${ip} route show table all`)).not.toContain('4096')
  })

  test('it is found, and goes, also when it was made in part', async () => {
    const delivery = onFreshMachine({ mark: 0x1000, table: 4096, priority: 90 })
    run('ip rule add priority 91 fwmark 0x1000/0x1000 nop')
    expect(await delivery.isThere('ipv4', signal)).toBe(true)
    await delivery.remove('ipv4', signal)
    expect(await delivery.isThere('ipv4', signal)).toBe(false)
  })

  test('a rule or a route that somebody removed alone comes back', async () => {
    const delivery = onFreshMachine({ mark: 0x1000, table: 4096, priority: 90 })
    for (const damage of ['ip rule delete priority 90', 'ip route flush table 4096']) {
      await delivery.ensure('ipv4', signal)
      run(damage)
      await delivery.ensure('ipv4', signal)
      expect(await delivery.isThere('ipv4', signal)).toBe(true)
      expect(run('ip route show table 4096')).toContain('local default dev lo')
    }
  })
})
