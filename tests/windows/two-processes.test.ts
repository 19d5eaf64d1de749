/** A core and a backend as two processes of Windows: `to-api`, and `api to-winkernel` with the stand-in for HNS. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { Cluster } from '../e2e/testing/cluster.ts'
import { eventually } from './testing/eventually.ts'
import { manifest, node, service, slice } from '../e2e/testing/objects.ts'
import { networkName, StandInHns } from './testing/stand-in-hns.ts'
import { startFairlead, WindowsDaemon } from './testing/windows-daemon.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

const remote = { addresses: ['10.244.2.7'], nodeName: 'elsewhere' }
const web = [service('web', 80, { clusterIP: '10.96.0.10' }), slice('web', 8080, remote)] as const
const late = [service('late', 81, { clusterIP: '10.96.0.11' }), slice('late', 8081, remote)] as const
const webBalancer = '10.96.0.10:80 → 10.244.2.7:8080'
const lateBalancer = '10.96.0.11:81 → 10.244.2.7:8081'

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('file to-api and api to-winkernel, over TCP; the end of the core changes nothing', async () => {
    const { port } = await freePorts('port')
    await using objects = await TemporaryFolder.make()
    await objects.write('web.yaml', manifest(...web))
    const startCore = () =>
      startFairlead(['file', 'to-api', `--input=${windowsPath(objects.path)}`, `--listen=tcp://127.0.0.1:${port}`])
    await using core = await startCore()
    await using hns = await StandInHns.make()
    await using backend = await startBackend(hns, `127.0.0.1:${port}`)
    await eventually(async () => expect(await hns.loadBalancers()).toEqual([webBalancer]))
    expect((await backend.metrics('/proxyMode')).body).toBe('kernelspace')

    core.kill()
    await core.ended()
    await objects.write('late.yaml', manifest(...late))
    await backend.process.says(/no contact with the KPNG server; the last state stays in use/)
    expect(await hns.loadBalancers()).toEqual([webBalancer])
    await using _again = await startCore()
    await eventually(async () => expect(await hns.loadBalancers()).toEqual([webBalancer, lateBalancer]))
  })

  test('kube to-api and api to-winkernel, over a named pipe', async () => {
    const pipe = `npipe:////./pipe/fairlead-${randomUUID()}`
    await using cluster = await Cluster.start(node('node1'), ...web)
    const kubeconfig = `--kubeconfig=${windowsPath(cluster.kubeconfig)}`
    await using _core = await startFairlead(['kube', 'to-api', kubeconfig, `--listen=${pipe}`])
    await using hns = await StandInHns.make()
    await using _backend = await startBackend(hns, pipe)
    await eventually(async () => expect(await hns.loadBalancers()).toEqual([webBalancer]))
    for (const object of late) await cluster.create(object)
    await eventually(async () => expect(await hns.loadBalancers()).toEqual([webBalancer, lateBalancer]))
  })
})

function startBackend(hns: StandInHns, api: string): Promise<WindowsDaemon> {
  const sink = ['api', 'to-winkernel', `--api=${api}`, `--network-name=${networkName}`, '--iptables-min-sync-period=0s']
  return WindowsDaemon.start({ args: sink, env: hns.env })
}
