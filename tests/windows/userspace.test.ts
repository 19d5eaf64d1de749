/**
 * The daemon in userspace mode on a Windows node. Sockets are real, at loopback addresses; only netsh is a stand-in, for
 * Wine cannot add addresses.
 */
import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startHttpBackend, startUdpBackend } from '../../src/cli/demo/sample-backends.ts'
import { ownLoopback } from '../../src/dataplane/relay/testing/own-loopback.ts'
import { failureOf, sayOverUdp, whoAnswers } from '../e2e/testing/clients.ts'
import { eventually } from './testing/eventually.ts'
import { service, slice } from '../e2e/testing/objects.ts'
import { StandInNetsh } from './testing/stand-in-netsh.ts'
import { WindowsRig } from './testing/windows-rig.ts'
import { missingTools } from './testing/wine.ts'

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('a TCP Service has its address while it is there, and traffic follows its endpoint', async () => {
    await using blue = await startHttpBackend('blue')
    await using green = await startHttpBackend('green')
    const ip = ownLoopback(31)
    await using rig = await makeRig()
    await rig.write('web', service('web', 8080, { clusterIP: ip }), slice('web', blue.port))
    await using daemon = await rig.start()
    const url = `http://${ip}:8080`
    await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
    expect(await rig.standIn.addresses()).toEqual([ip])
    expect((await daemon.metrics('/proxyMode')).body).toBe('userspace')
    expect((await daemon.health('/healthz')).status).toBe(200)

    await rig.write('web', service('web', 8080, { clusterIP: ip }), slice('web', green.port))
    await eventually(async () => expect(await whoAnswers(url)).toBe('green'))

    await rig.write('web')
    await eventually(async () => expect(await rig.standIn.addresses()).toEqual([]))
    expect(await failureOf(url)).toBe('ECONNREFUSED')
    expect((await rig.standIn.changes()).map((line) => line.replace(/ name=.* address=(\S+).*/, ' $1'))).toEqual([
      `interface ipv4 add address ${ip}`,
      `interface ipv4 delete address ${ip}`,
    ])
  })

  test('a UDP Service answers its clients', async () => {
    await using echo = await startUdpBackend('echo')
    const ip = ownLoopback(32)
    await using rig = await makeRig()
    const ports = (port: number) => [{ name: 'http', port, protocol: 'UDP' }]
    const dns = service('dns', 5353, { clusterIP: ip, ports: ports(5353) })
    await rig.write('dns', dns, { ...slice('dns', echo.port), ports: ports(echo.port) })
    await using _daemon = await rig.start()
    await eventually(async () => expect(await sayOverUdp('hello', { ip, port: 5353 })).toBe('echo heard hello'))
    // The same client again, and another one.
    expect(await sayOverUdp('again', { ip, port: 5353 })).toBe('echo heard again')
  })

  test('after many changes there are no more addresses, sockets and files than before', async () => {
    await using blue = await startHttpBackend('blue')
    await using green = await startHttpBackend('green')
    const ip = ownLoopback(33)
    await using rig = await makeRig()
    const change = async ({ name, port }: { readonly name: string; readonly port: number }) => {
      await rig.write('web', service('web', 8080, { clusterIP: ip }), slice('web', port))
      await eventually(async () => expect(await whoAnswers(`http://${ip}:8080`)).toBe(name))
    }
    await rig.write('web', service('web', 8080, { clusterIP: ip }), slice('web', blue.port))
    await using daemon = await rig.start()
    await change(green)
    await change(blue)
    const openFiles = () => readdir(`/proc/${daemon.process.pid}/fd`)
    const before = (await openFiles()).length
    for (let round = 0; round < 15; round++) {
      await change(green)
      await change(blue)
    }
    expect(await rig.standIn.addresses()).toEqual([ip])
    // Wine opens and closes some by itself.
    await eventually(async () => expect((await openFiles()).length).toBeLessThan(before + 10))
  })
})

async function makeRig() {
  return WindowsRig.make('userspace', await StandInNetsh.make())
}
