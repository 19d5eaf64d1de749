/**
 * The daemon in userspace mode on a Windows node. Sockets are real, at loopback addresses; only netsh is a stand-in, for
 * Wine cannot add addresses.
 */
import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startHttpBackend, startUdpBackend } from '../../src/cli/demo/sample-backends.ts'
import { ownLoopback } from '../../src/dataplane/relay/testing/own-loopback.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { failureOf, sayOverUdp, whoAnswers } from '../e2e/testing/clients.ts'
import { eventually } from './testing/eventually.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import type { KubernetesObject } from '../e2e/testing/objects.ts'
import { StandInNetsh } from './testing/stand-in-netsh.ts'
import { WindowsDaemon } from './testing/windows-daemon.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('a TCP Service has its address while it is there, and traffic follows its endpoint', async () => {
    await using blue = await startHttpBackend('blue')
    await using green = await startHttpBackend('green')
    const ip = ownLoopback(31)
    await using rig = await Rig.make()
    await rig.write('web', service('web', 8080, { clusterIP: ip }), slice('web', blue.port))
    await using daemon = await rig.start()
    const url = `http://${ip}:8080`
    await eventually(async () => expect(await whoAnswers(url)).toBe('blue'))
    expect(await rig.netsh.addresses()).toEqual([ip])
    expect((await daemon.metrics('/proxyMode')).body).toBe('userspace')
    expect((await daemon.health('/healthz')).status).toBe(200)

    await rig.write('web', service('web', 8080, { clusterIP: ip }), slice('web', green.port))
    await eventually(async () => expect(await whoAnswers(url)).toBe('green'))

    await rig.write('web')
    await eventually(async () => expect(await rig.netsh.addresses()).toEqual([]))
    expect(await failureOf(url)).toBe('ECONNREFUSED')
    expect((await rig.netsh.changes()).map((line) => line.replace(/ name=.* address=(\S+).*/, ' $1'))).toEqual([
      `interface ipv4 add address ${ip}`,
      `interface ipv4 delete address ${ip}`,
    ])
  })

  test('a UDP Service answers its clients', async () => {
    await using echo = await startUdpBackend('echo')
    const ip = ownLoopback(32)
    await using rig = await Rig.make()
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
    await using rig = await Rig.make()
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
    expect(await rig.netsh.addresses()).toEqual([ip])
    // Wine opens and closes some by itself.
    await eventually(async () => expect((await openFiles()).length).toBeLessThan(before + 10))
  })
})

/** A node: netsh, manifests, and a folder for the state of the daemon. */
class Rig implements AsyncDisposable {
  readonly netsh: StandInNetsh
  readonly #objects: TemporaryFolder
  readonly #state: TemporaryFolder

  private constructor(netsh: StandInNetsh, objects: TemporaryFolder, state: TemporaryFolder) {
    this.netsh = netsh
    this.#objects = objects
    this.#state = state
  }

  static async make(): Promise<Rig> {
    return new Rig(await StandInNetsh.make(), await TemporaryFolder.make(), await TemporaryFolder.make())
  }

  start(): Promise<WindowsDaemon> {
    const [objects, state] = [this.#objects, this.#state].map(({ path }) => windowsPath(path))
    const folders = [`--objects=${objects}`, `--state-dir=${state}`]
    return WindowsDaemon.start({
      args: ['--proxy-mode=userspace', ...folders, '--iptables-min-sync-period=0s'],
      env: this.netsh.env,
    })
  }

  /** Without objects: the file is empty. */
  async write(name: string, ...objects: readonly KubernetesObject[]): Promise<void> {
    await this.#objects.write(`${name}.yaml`, manifest(...objects))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of [this.netsh, this.#objects, this.#state]) await part[Symbol.asyncDispose]()
  }
}
