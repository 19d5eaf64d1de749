/** The stand-in knows what netsh prints and when it fails; addresses that sockets can use it has none. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { Clock } from '../../core/clock.ts'
import { CommandNetsh } from './command-netsh.ts'
import { MemoryNetsh } from './memory-netsh.ts'
import { defaultInterface, interfaceNameFrom } from './netsh.ts'
import { netshContract } from './netsh.contract.ts'
import { missingForStandIn, StandInNetsh } from './testing/stand-in-netsh.ts'

const { signal } = new AbortController()

netshContract('MemoryNetsh', async ({ hasInterface = true, isAdministrator = true } = {}) => {
  const netsh = new MemoryNetsh()
  Object.assign(netsh, { hasInterface, isAdministrator })
  return { netsh, putElsewhere: async (ip) => void netsh.elsewhere.add(ip) }
})

test('113: the interface is that of INTERFACE_TO_ADD_SERVICE_IP, or the switch of the containers', () => {
  expect(interfaceNameFrom({ INTERFACE_TO_ADD_SERVICE_IP: 'Ethernet 2' })).toBe('Ethernet 2')
  expect(interfaceNameFrom({ INTERFACE_TO_ADD_SERVICE_IP: '' })).toBe('vEthernet (HNS Internal NIC)')
  expect(interfaceNameFrom({})).toBe('vEthernet (HNS Internal NIC)')
})

const missing = missingForStandIn()
let standIn: StandInNetsh
describe.skipIf(missing !== undefined)(`CommandNetsh${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  beforeAll(async () => {
    standIn = await StandInNetsh.build()
  })
  afterAll(() => standIn[Symbol.asyncDispose]())

  netshContract(
    'CommandNetsh, with a stand-in program',
    async ({ hasInterface = true, isAdministrator = true } = {}) => {
      const { machine, ...made } = await onStandIn()
      if (hasInterface) await machine.put('interface', defaultInterface)
      if (!isAdministrator) await machine.put('denied')
      return made
    },
  )

  test('115: netsh gets exactly these arguments; the name of the interface is one of them', async () => {
    const { machine, netsh } = await onStandIn()
    await machine.put('interface', defaultInterface)
    await netsh.add('10.96.0.10', signal)
    await netsh.remove('10.96.0.10', signal)
    await netsh.add('fd00:96::10', signal)
    await netsh.remove('fd00:96::10', signal)
    const [v4, v6] = ['name=vEthernet (HNS Internal NIC)', 'interface=vEthernet (HNS Internal NIC)']
    const options = ['store=active', 'skipassource=true']
    expect(await machine.calls()).toEqual([
      ['interface', 'ipv4', 'add', 'address', v4, 'address=10.96.0.10', 'mask=255.255.255.255', ...options],
      ['interface', 'ipv4', 'show', 'address', v4],
      ['interface', 'ipv4', 'delete', 'address', v4, 'address=10.96.0.10'],
      ['interface', 'ipv6', 'add', 'address', v6, 'address=fd00:96::10/128', ...options],
      ['interface', 'ipv6', 'show', 'address', v6],
      ['interface', 'ipv6', 'delete', 'address', v6, 'address=fd00:96::10'],
    ])
  })
})

async function onStandIn() {
  const machine = await standIn.machine()
  const elsewhere = new Set<string>()
  const netsh = new CommandNetsh({
    exec: machine.exec,
    interfaceName: defaultInterface,
    clock: impatientClock(),
    canUse: async (ip) => elsewhere.has(ip) || (await hasBeenAdded(machine, ip)),
  })
  return {
    machine,
    netsh,
    async putElsewhere(ip: string) {
      elsewhere.add(ip)
      await machine.put(`elsewhere-${ip}`)
    },
  }
}

async function hasBeenAdded(machine: Awaited<ReturnType<StandInNetsh['machine']>>, ip: string): Promise<boolean> {
  const calls = await machine.calls()
  return calls.some((args) => args.includes('add') && args.some((arg) => arg.startsWith(`address=${ip}`)))
}

/** Pauses end at once. */
function impatientClock(): Clock {
  const clock = new FakeClock()
  const sleep: Clock['sleep'] = async (ms, waiting) => {
    const slept = clock.sleep(ms, waiting)
    await clock.advance(ms)
    await slept
  }
  return { now: () => clock.now(), monotonic: () => clock.monotonic(), sleep }
}
