/** The daemon in kernelspace mode, with the stand-in for HNS behind its FFI calls. */
import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { eventually } from './testing/eventually.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import { networkName, StandInHns } from './testing/stand-in-hns.ts'
import { runFairlead, WindowsDaemon } from './testing/windows-daemon.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('a Service becomes a load balancer, which follows its endpoints and goes with it', async () => {
    await using rig = await Rig.make()
    const { hns } = rig
    await rig.serve('web', '10.96.0.10', ['10.244.2.7'])
    await using daemon = await rig.start()
    await eventually(async () => expect(await hns.loadBalancers()).toEqual(['10.96.0.10:80 → 10.244.2.7:8080']))
    expect((await daemon.metrics('/proxyMode')).body).toBe('kernelspace')
    expect((await daemon.health('/healthz')).status).toBe(200)

    await rig.serve('web', '10.96.0.10', ['10.244.2.8', '10.244.3.9'])
    await eventually(async () =>
      expect(await hns.loadBalancers()).toEqual(['10.96.0.10:80 → 10.244.2.8:8080, 10.244.3.9:8080']),
    )
    await eventually(async () => expect(await hns.endpoints()).toEqual(['10.244.2.8', '10.244.3.9']))
    expect(await hns.calls()).toContain('HcnModifyLoadBalancer')

    await rig.stopServing('web')
    await eventually(async () => expect([await hns.loadBalancers(), await hns.endpoints()]).toEqual([[], []]))
    await eventually(async () => expect(await hns.openHandles()).toBe(0))
    expect(await hns.mostLentTexts()).toBe(1)
  })

  test('load balancers that somebody removes come back', async () => {
    await using rig = await Rig.make()
    await rig.serve('web', '10.96.0.10', ['10.244.2.7'])
    await using _daemon = await rig.start()
    const whole = ['10.96.0.10:80 → 10.244.2.7:8080']
    await eventually(async () => expect(await rig.hns.loadBalancers()).toEqual(whole))
    await rig.hns.loseLoadBalancers()
    await eventually(async () => expect(await rig.hns.loadBalancers()).toEqual(whole))
  })

  test('a daemon that was killed finds what it made; --cleanup removes that, and says so before', async () => {
    await using rig = await Rig.make()
    const { hns } = rig
    await rig.serve('web', '10.96.0.10', ['10.244.2.7'])
    const whole = ['10.96.0.10:80 → 10.244.2.7:8080']
    await using first = await rig.start()
    await eventually(async () => expect(await hns.loadBalancers()).toEqual(whole))
    first.process.kill()
    await first.process.ended()

    const before = await hns.calls()
    {
      await using second = await rig.start()
      await eventually(async () => expect((await second.health('/healthz')).status).toBe(200))
      const later = (await hns.calls()).slice(before.length)
      expect(later.filter((name) => /^Hcn(Create|Modify|Delete)/.test(name))).toEqual([])
    }
    expect(await hns.loadBalancers()).toEqual(whole)

    const asked = await runFairlead(['--cleanup', '--dry-run', ...rig.place], { env: hns.env })
    expect(asked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('10.96.0.10') as string })
    expect(await hns.loadBalancers()).toEqual(whole)
    const cleaned = await runFairlead(['--cleanup', ...rig.place], { env: hns.env })
    expect(cleaned).toMatchObject({ exitCode: 0 })
    expect([await hns.loadBalancers(), await hns.endpoints()]).toEqual([[], []])
  })

  test('after many changes there are no more objects, handles and files than before', async () => {
    await using rig = await Rig.make()
    const { hns } = rig
    const [even, odd] = [['10.244.2.7', '10.244.3.8'], ['10.244.2.9']] as const
    const showing = (ips: readonly string[]) => [`10.96.0.10:80 → ${ips.map((ip) => `${ip}:8080`).join(', ')}`]
    const change = async (ips: readonly string[]) => {
      await rig.serve('web', '10.96.0.10', ips)
      await eventually(async () => expect(await hns.loadBalancers()).toEqual(showing(ips)))
      await eventually(async () => expect(await hns.endpoints()).toEqual(ips))
    }
    await rig.serve('web', '10.96.0.10', even)
    await using daemon = await rig.start()
    await change(odd)
    await change(even)
    const openFiles = () => readdir(`/proc/${daemon.process.pid}/fd`)
    const before = (await openFiles()).length
    for (let round = 0; round < 15; round++) {
      await change(odd)
      await change(even)
    }
    await eventually(async () => expect(await hns.openHandles()).toBe(0))
    expect(await hns.mostLentTexts()).toBe(1)
    // Wine opens and closes some by itself.
    await eventually(async () => expect((await openFiles()).length).toBeLessThan(before + 10))
  })
})

/** A node: HNS, manifests, and a folder for the state of the daemon. */
class Rig implements AsyncDisposable {
  readonly hns: StandInHns
  readonly #objects: TemporaryFolder
  readonly #state: TemporaryFolder

  private constructor(hns: StandInHns, objects: TemporaryFolder, state: TemporaryFolder) {
    this.hns = hns
    this.#objects = objects
    this.#state = state
  }

  static async make(): Promise<Rig> {
    return new Rig(await StandInHns.make(), await TemporaryFolder.make(), await TemporaryFolder.make())
  }

  /** What every command on this node is given. */
  get place(): readonly string[] {
    return ['--proxy-mode=kernelspace', `--state-dir=${windowsPath(this.#state.path)}`]
  }

  start(): Promise<WindowsDaemon> {
    const objects = `--objects=${windowsPath(this.#objects.path)}`
    return WindowsDaemon.start({
      args: [...this.place, objects, `--network-name=${networkName}`, '--iptables-min-sync-period=0s'],
      env: this.hns.env,
    })
  }

  async serve(name: string, clusterIP: string, endpoints: readonly string[]): Promise<void> {
    const endpointList = endpoints.map((ip) => ({ addresses: [ip], nodeName: 'elsewhere' }))
    const objects = [service(name, 80, { clusterIP }), { ...slice(name, 8080), endpoints: endpointList }]
    await this.#objects.write(`${name}.yaml`, manifest(...objects))
  }

  async stopServing(name: string): Promise<void> {
    await this.#objects.write(`${name}.yaml`, '')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of [this.hns, this.#objects, this.#state]) await part[Symbol.asyncDispose]()
  }
}
