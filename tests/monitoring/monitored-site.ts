/** A cluster with a node, a core and a client of the core, to which enough has happened that most metrics have a value. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { failureOf, get, whoAnswers } from '../e2e/testing/clients.ts'
import { Cluster } from '../e2e/testing/cluster.ts'
import { DaemonProcess, nodeName } from '../e2e/testing/daemon-process.ts'
import { eventually } from '../e2e/testing/eventually.ts'
import { FairleadProcess } from '../e2e/testing/fairlead-process.ts'
import { node, service, slice } from '../e2e/testing/objects.ts'
import type { KubernetesObject } from '../e2e/testing/objects.ts'

export class MonitoredSite implements AsyncDisposable {
  /** Of `/metrics`: the daemon, the core, its client. */
  readonly targets: readonly string[]
  /** Makes the numbers grow. */
  readonly work: () => Promise<void>
  readonly #parts: readonly AsyncDisposable[]

  private constructor(targets: readonly string[], work: () => Promise<void>, parts: readonly AsyncDisposable[]) {
    this.targets = targets
    this.work = work
    this.#parts = parts
  }

  static async start(): Promise<MonitoredSite> {
    const parts: AsyncDisposable[] = []
    const own = <Part extends AsyncDisposable>(part: Part): Part => {
      parts.push(part)
      return part
    }
    try {
      return await start(own, (targets, work) => new MonitoredSite(targets, work, parts))
    } catch (error) {
      await disposeOf(parts)
      throw error
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return disposeOf(this.#parts)
  }
}

async function start(
  own: <Part extends AsyncDisposable>(part: Part) => Part,
  made: (targets: readonly string[], work: () => Promise<void>) => MonitoredSite,
): Promise<MonitoredSite> {
  const folder = own(await TemporaryFolder.make())
  const backend = own(await startHttpBackend('web'))
  const ports = await freePorts('web', 'broken', 'nobody', 'core', 'client')
  const web = slice('web', backend.port)
  const cluster = own(
    await Cluster.start(
      node(nodeName),
      service('web', ports.web),
      service('broken', ports.broken),
      changedNow(web),
      changedNow(slice('broken', ports.nobody)),
    ),
  )
  const daemon = own(await DaemonProcess.start(`--kubeconfig=${cluster.kubeconfig}`))
  const api = `--api=unix://${folder.path}/core.sock`
  const metrics = (port: number) => `--exportMetrics=127.0.0.1:${port}`
  own(new FairleadProcess(['kube', 'to-api', `--kubeconfig=${cluster.kubeconfig}`, api, metrics(ports.core)]))
  own(new FairleadProcess(['api', 'to-local', api, `--node-name=${nodeName}`, metrics(ports.client)]))

  const url = `http://127.0.0.1:${ports.web}`
  const work = async () => {
    for (let count = 0; count < 5; count++) await whoAnswers(url)
    await failureOf(`http://127.0.0.1:${ports.broken}`)
    await daemon.health('/healthz')
    // A pod goes and comes: the removal is measured.
    await cluster.merge(web, { endpoints: [] })
    await eventually(async () => expect(await failureOf(url)).not.toMatch(/^no failure/))
    await cluster.merge(changedNow(web), {
      metadata: changedNow(web).metadata,
      endpoints: [{ addresses: ['127.0.0.1'] }],
    })
    await eventually(async () => expect(await whoAnswers(url)).toBe('web'))
  }
  await daemon.isUp()
  await eventually(async () => expect(await whoAnswers(url)).toBe('web'))
  await eventually(async () => expect(await failureOf(`http://127.0.0.1:${ports.broken}`)).toBe('ECONNRESET'))
  await cluster.goAway()
  await daemon.process.says('ECONNREFUSED')
  await cluster.comeBack()
  await work()
  // There is skew where there are two endpoints, and a connection is open.
  const second = slice('web', ports.nobody)
  await cluster.create({ ...second, metadata: { ...second.metadata, name: 'web-2' } })
  const open = connect(ports.web, '127.0.0.1')
  own({ [Symbol.asyncDispose]: async () => void open.destroy() })
  await once(open, 'connect')
  const targets = [daemon.ports[1], ports.core, ports.client].map((port) => `127.0.0.1:${port}`)
  for (const target of targets) await eventually(() => get(`http://${target}/metrics`))
  await eventually(async () => {
    expect((await daemon.metrics('/metrics')).body).toContain('\nfairlead_service_skew{')
    expect((await get(`http://${targets[2]}/metrics`)).body).toContain('\nfairlead_kpng_core_connected 1\n')
  })
  return made(targets, work)
}

/** With the annotation from which the time of programming is measured. */
function changedNow(object: KubernetesObject): KubernetesObject {
  const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': new Date().toISOString() }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

async function disposeOf(parts: readonly AsyncDisposable[]): Promise<void> {
  for (const part of parts.toReversed()) await part[Symbol.asyncDispose]()
}
