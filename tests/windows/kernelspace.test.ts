/** The daemon in kernelspace mode, with the stand-in for HNS behind its FFI calls. */
import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { eventually } from './testing/eventually.ts'
import { service, slice } from '../e2e/testing/objects.ts'
import { networkName, StandInHns } from './testing/stand-in-hns.ts'
import { runFairlead } from './testing/windows-daemon.ts'
import { WindowsRig } from './testing/windows-rig.ts'
import { missingTools } from './testing/wine.ts'

const network = `--network-name=${networkName}`

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('a Service becomes a load balancer, which follows its endpoints and goes with it', async () => {
    await using rig = await makeRig()
    const { standIn: hns } = rig
    await serve(rig, 'web', '10.96.0.10', ['10.244.2.7'])
    await using daemon = await rig.start(network)
    await eventually(async () => expect(await hns.loadBalancers()).toEqual(['10.96.0.10:80 → 10.244.2.7:8080']))
    expect((await daemon.metrics('/proxyMode')).body).toBe('kernelspace')
    expect((await daemon.health('/healthz')).status).toBe(200)

    await serve(rig, 'web', '10.96.0.10', ['10.244.2.8', '10.244.3.9'])
    await eventually(async () =>
      expect(await hns.loadBalancers()).toEqual(['10.96.0.10:80 → 10.244.2.8:8080, 10.244.3.9:8080']),
    )
    await eventually(async () => expect(await hns.endpoints()).toEqual(['10.244.2.8', '10.244.3.9']))
    expect(await hns.calls()).toContain('HcnModifyLoadBalancer')

    await rig.write('web')
    await eventually(async () => expect([await hns.loadBalancers(), await hns.endpoints()]).toEqual([[], []]))
    await eventually(async () => expect(await hns.openHandles()).toBe(0))
    expect(await hns.mostLentTexts()).toBe(1)
  })

  test('load balancers that somebody removes come back', async () => {
    await using rig = await makeRig()
    await serve(rig, 'web', '10.96.0.10', ['10.244.2.7'])
    await using _daemon = await rig.start(network)
    const whole = ['10.96.0.10:80 → 10.244.2.7:8080']
    await eventually(async () => expect(await rig.standIn.loadBalancers()).toEqual(whole))
    await rig.standIn.loseLoadBalancers()
    await eventually(async () => expect(await rig.standIn.loadBalancers()).toEqual(whole))
  })

  test('a daemon that was killed finds what it made; --cleanup removes that, and says so before', async () => {
    await using rig = await makeRig()
    const { standIn: hns } = rig
    await serve(rig, 'web', '10.96.0.10', ['10.244.2.7'])
    const whole = ['10.96.0.10:80 → 10.244.2.7:8080']
    await using first = await rig.start(network)
    await eventually(async () => expect(await hns.loadBalancers()).toEqual(whole))
    first.process.kill()
    await first.process.ended()

    const before = await hns.calls()
    {
      await using second = await rig.start(network)
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
    await using rig = await makeRig()
    const { standIn: hns } = rig
    const [even, odd] = [['10.244.2.7', '10.244.3.8'], ['10.244.2.9']] as const
    const showing = (ips: readonly string[]) => [`10.96.0.10:80 → ${ips.map((ip) => `${ip}:8080`).join(', ')}`]
    const change = async (ips: readonly string[]) => {
      await serve(rig, 'web', '10.96.0.10', ips)
      await eventually(async () => expect(await hns.loadBalancers()).toEqual(showing(ips)))
      await eventually(async () => expect(await hns.endpoints()).toEqual(ips))
    }
    await serve(rig, 'web', '10.96.0.10', even)
    await using daemon = await rig.start(network)
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

async function makeRig() {
  return WindowsRig.make('kernelspace', await StandInHns.make())
}

async function serve(
  rig: WindowsRig<StandInHns>,
  name: string,
  clusterIP: string,
  endpoints: readonly string[],
): Promise<void> {
  const endpointList = endpoints.map((ip) => ({ addresses: [ip], nodeName: 'elsewhere' }))
  await rig.write(name, service(name, 80, { clusterIP }), { ...slice(name, 8080), endpoints: endpointList })
}
