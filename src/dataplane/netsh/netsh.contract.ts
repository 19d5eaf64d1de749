/** The tests that every Netsh passes: with the program, or in memory. */
import { describe, expect, test } from 'vitest'
import type { Netsh } from './netsh.ts'

export interface NetshUnderTest {
  readonly netsh: Netsh
  /** Gives another interface of the machine this address. */
  readonly putElsewhere: (ip: string) => Promise<void>
}

export interface MachineOptions {
  readonly hasInterface?: boolean
  readonly isAdministrator?: boolean
}

export function netshContract(name: string, make: (options?: MachineOptions) => Promise<NetshUnderTest>): void {
  const { signal } = new AbortController()

  describe(`netsh by ${name}`, () => {
    test('gives the interface addresses of both families, and takes them away', async () => {
      const { netsh } = await make()
      expect(await netsh.list('ipv4', signal)).toEqual([])
      expect(await netsh.add('10.96.0.10', signal)).toBe('added')
      expect(await netsh.add('10.96.0.11', signal)).toBe('added')
      expect(await netsh.add('fd00:96::10', signal)).toBe('added')
      expect(await netsh.list('ipv4', signal)).toEqual(['10.96.0.10', '10.96.0.11'])
      expect(await netsh.list('ipv6', signal)).toEqual(['fd00:96::10'])
      await netsh.remove('10.96.0.10', signal)
      await netsh.remove('fd00:96::10', signal)
      expect(await netsh.list('ipv4', signal)).toEqual(['10.96.0.11'])
      expect(await netsh.list('ipv6', signal)).toEqual([])
    })

    test('110: an address that the interface has is not added again', async () => {
      const { netsh } = await make()
      await netsh.add('10.96.0.10', signal)
      expect(await netsh.add('10.96.0.10', signal)).toBe('was-there')
      expect(await netsh.list('ipv4', signal)).toEqual(['10.96.0.10'])
    })

    test('111: an address that another interface has stays there', async () => {
      const { netsh, putElsewhere } = await make()
      await putElsewhere('192.0.2.7')
      expect(await netsh.add('192.0.2.7', signal)).toBe('was-there')
      expect(await netsh.list('ipv4', signal)).toEqual([])
    })

    test('112, unlike upstream: it is no error to remove what is gone', async () => {
      const { netsh } = await make()
      for (const ip of ['10.96.0.10', 'fd00:96::10']) await expect(netsh.remove(ip, signal)).resolves.toBeUndefined()
    })

    test('says so when there is no such interface', async () => {
      const { netsh } = await make({ hasInterface: false })
      const message =
        `netsh cannot show the interface "${netsh.interfaceName}": set INTERFACE_TO_ADD_SERVICE_IP to the name of an ` +
        'interface of this node (default: vEthernet (HNS Internal NIC); "netsh interface show interface" lists them)'
      const expected = { name: 'NetshError', reason: 'no-such-interface', message }
      await expect(netsh.list('ipv4', signal)).rejects.toMatchObject(expected)
      await expect(netsh.add('10.96.0.10', signal)).rejects.toMatchObject(expected)
      await expect(netsh.remove('10.96.0.10', signal)).rejects.toMatchObject(expected)
    })

    test('says so when the user is no administrator, who may look all the same', async () => {
      const { netsh } = await make({ isAdministrator: false })
      const expected = {
        reason: 'not-permitted',
        message:
          `this user may not change the addresses of the interface "${netsh.interfaceName}": run Fairlead as an ` +
          'administrator, as a service of LocalSystem, or in a HostProcess container',
      }
      expect(await netsh.list('ipv4', signal)).toEqual([])
      await expect(netsh.add('10.96.0.10', signal)).rejects.toMatchObject(expected)
      await expect(netsh.remove('10.96.0.10', signal)).rejects.toMatchObject(expected)
    })

    test('stops when it is aborted', async () => {
      const { netsh } = await make()
      const aborted = AbortSignal.abort(new Error('stopping'))
      await expect(netsh.list('ipv4', aborted)).rejects.toThrow('stopping')
      await expect(netsh.add('10.96.0.10', aborted)).rejects.toThrow('stopping')
      await expect(netsh.remove('10.96.0.10', aborted)).rejects.toThrow('stopping')
    })
  })
}
