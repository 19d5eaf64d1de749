/** Whoever reaches a port of the daemon can open connections and keep them: nothing else may suffer from it. */
import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { get, whoAnswers } from './testing/clients.ts'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { node, service, slice } from './testing/objects.ts'

const canLimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0
const openFiles = 400
const heldPerPort = 500

test.skipIf(!canLimit)(
  `connections that clients keep leave room for syncs and health checks at ${openFiles} open files (skipped without prlimit)`,
  async () => {
    const { port, other, target } = await freePorts('port', 'other', 'target')
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
    await using blue = await startHttpBackend('blue')
    await using cluster = await Cluster.start(node(nodeName), slice('shop', target, { nodeName }))
    const { spec: shop } = await cluster.create(service('shop', other, local))
    await using daemon = await DaemonProcess.startWith({ openFiles }, `--kubeconfig=${cluster.kubeconfig}`)
    const check = `http://127.0.0.1:${shop.healthCheckNodePort}/`
    await eventually(async () => expect((await get(check)).status).toBe(200))
    await daemon.isUp()

    await using crowd = new Crowd()
    for (const held of [...daemon.ports, Number(shop.healthCheckNodePort)]) await crowd.hold(held, heldPerPort)
    expect((await readdir(`/proc/${daemon.process.pid}/fd`)).length).toBeLessThan(openFiles / 2)

    // A new Service is served, and its health-check port opens.
    await cluster.create(slice('web', blue.port, { nodeName }))
    const { spec: web } = await cluster.create(service('web', port, local))
    await eventually(async () => expect(await whoAnswers(`http://127.0.0.1:${port}`)).toBe('blue'))
    await eventually(async () => expect((await get(`http://127.0.0.1:${web.healthCheckNodePort}/`)).status).toBe(200))
    // Each answers at the first try: a load balancer counts failures.
    for (let round = 0; round < 20; round++) {
      expect((await daemon.health('/healthz')).status).toBe(200)
      expect((await daemon.metrics('/metrics')).status).toBe(200)
      expect((await get(check)).status).toBe(200)
    }
    expect(daemon.process.stderr).not.toContain('EMFILE')
  },
)

/** Connections that ask once, or send half a request, or nothing, and stay. */
class Crowd implements AsyncDisposable {
  readonly #sockets: Socket[] = []

  /** Returns when each is connected, or has been sent away. */
  async hold(port: number, count: number): Promise<void> {
    const openings = ['GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /healthz HTTP/1.1\r\nX-Slow: ', '']
    await Promise.all(
      Array.from({ length: count }, (_, index) => {
        const socket = connect(port, '127.0.0.1')
        this.#sockets.push(socket)
        socket.on('error', () => {})
        socket.resume()
        return new Promise<void>((resolve) => {
          socket.once('close', () => resolve())
          socket.once('connect', () => socket.write(openings[index % openings.length] ?? '', () => resolve()))
        })
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
  }
}
