/** A node with Jaeger beside it: what the real program sends is asked for there. */
import { readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { writeKubeconfig } from '../../../src/embedded/kubeconfig-file.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { manifest } from '../../e2e/testing/objects.ts'
import type { KubernetesObject } from '../../e2e/testing/objects.ts'
import { ApiObjects } from '../../packet/testing/api-objects.ts'
import { chooseVariant } from '../../packet/testing/iptables-variant.ts'
import type { IptablesVariant } from '../../packet/testing/iptables-variant.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'
import { inNamespace, Jaeger, parentOf, shapeBelow, tag } from './jaeger.ts'
import type { JaegerSpan, JaegerTrace } from './jaeger.ts'

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))

export const tracingPage = readFileSync(new URL('../../../docs/tracing.md', import.meta.url), 'utf8')

export const patiently = { timeout: 40_000, interval: 200 }

/** The port of a server for UDP on the node. */
export const echoPort = 5353

/** After each sync, in every mode. */
export const hooks = `
  service health checks
  delete stale UDP flows`

export const nodeFlags = [
  '--hostname-override=node1',
  '--node-address=192.0.2.1',
  '--iptables-min-sync-period=10ms',
  '--debug-socket=none',
  // What belongs to the whole machine stays as it is.
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0s',
  '--conntrack-tcp-timeout-close-wait=0s',
]

export interface PlacedSpan {
  readonly name: string
  readonly below: string | undefined
  readonly says: Readonly<Record<string, unknown>>
}

export interface Found {
  readonly trace: JaegerTrace
  readonly root: JaegerSpan
}

/** A node with Jaeger beside it, and a folder of objects. */
export class TracedSite implements AsyncDisposable {
  readonly #namespace: Namespace
  readonly #jaeger: Jaeger
  readonly #folder: TemporaryFolder

  private constructor(namespace: Namespace, jaeger: Jaeger, folder: TemporaryFolder) {
    this.#namespace = namespace
    this.#jaeger = jaeger
    this.#folder = folder
  }

  static async make(...objects: readonly KubernetesObject[]): Promise<TracedSite> {
    const namespace = Namespace.make()
    namespace.ip(
      'link add eth0 type veth peer name peer0',
      'addr add 192.0.2.1/24 dev eth0',
      'link set eth0 up',
      'link set peer0 up',
      'route add default via 192.0.2.254',
    )
    const site = new TracedSite(namespace, await Jaeger.start(inNamespace(namespace)), await TemporaryFolder.make())
    await site.write(...objects)
    return site
  }

  /** An API server that the node reaches with the kubeconfig in the folder. */
  async cluster(): Promise<ApiObjects> {
    const objects = await ApiObjects.start(this.#namespace)
    await writeKubeconfig(join(this.folder, 'kubeconfig'), objects.url)
    return objects
  }

  get folder(): string {
    return this.#folder.path
  }

  get objects(): string {
    return join(this.#folder.path, 'objects.yaml')
  }

  async write(...objects: readonly KubernetesObject[]): Promise<void> {
    // In one step: half a file would be a state of its own.
    await rename(await this.#folder.write('objects.new', manifest(...objects)), this.objects)
  }

  useIptables(variant: IptablesVariant): void {
    chooseVariant(this.#namespace, variant)
  }

  fairlead(args: readonly string[], port: number): NodeProcess {
    const endpoint = `--otlp-endpoint=http://127.0.0.1:${port}`
    return new NodeProcess(this.#namespace, process.execPath, [program, ...args, endpoint], {
      OTEL_BSP_SCHEDULE_DELAY: '50',
    })
  }

  /** What a client on the node gets; empty if nothing. */
  fetch(url: string): string {
    try {
      return this.#namespace.run('curl', ['-sS', '--max-time', '5', url])
    } catch {
      return ''
    }
  }

  /** Sends back what it gets. */
  echo(): NodeProcess {
    const script = `const socket = require('node:dgram').createSocket('udp4')
      socket.on('message', (text, { port, address }) => socket.send(text, port, address)).bind(${echoPort}, '192.0.2.1')`
    return new NodeProcess(this.#namespace, process.execPath, ['-e', script])
  }

  /** What comes back for one datagram; empty if nothing does. */
  exchange(ip: string, port: number): string {
    const script = `const socket = require('node:dgram').createSocket('udp4')
      socket.on('message', (text) => { process.stdout.write(text); socket.close(); clearTimeout(giveUp) })
      const giveUp = setTimeout(() => socket.close(), 1000)
      socket.send('hello', ${port}, '${ip}')`
    return this.#namespace.run(process.execPath, ['-e', script])
  }

  /** Spans with this name, the oldest first. */
  all(name: string): readonly Found[] {
    return this.#jaeger
      .traces('fairlead')
      .flatMap((trace) => trace.spans.map((root) => ({ trace, root })))
      .filter(({ root }) => root.operationName === name)
      .toSorted((left, right) => left.root.startTime - right.root.startTime)
  }

  /** Waits for one with these tags; all of its trace was sent with it. */
  async root(name: string, tags: Readonly<Record<string, unknown>>, sender: NodeProcess): Promise<Found> {
    const matching = () =>
      this.all(name).find(({ root }) => Object.entries(tags).every(([key, value]) => tag(root, key) === value))
    await vi.waitUntil(() => matching() !== undefined || !sender.isRunning, patiently).catch(() => {})
    const found = matching()
    if (found === undefined) throw new Error(`no ${name} in Jaeger; the sender says:\n${sender.output}`)
    return found
  }

  traceOf(id: string): JaegerTrace {
    const found = this.#jaeger.traces('fairlead').find(({ traceID }) => traceID === id)
    if (found === undefined) throw new Error(`Jaeger has no trace ${id}`)
    return found
  }

  /** All of them, with what they are part of. */
  spans(): readonly PlacedSpan[] {
    return this.#jaeger.traces('fairlead').flatMap(({ spans }) => {
      const nameById = new Map(spans.map((span) => [span.spanID, span.operationName]))
      return spans.map((span) => ({
        name: span.operationName,
        below: nameById.get(parentOf(span) ?? ''),
        says: Object.fromEntries(span.tags.map(({ key, value }) => [key, value])),
      }))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#jaeger[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
    this.#namespace[Symbol.dispose]()
  }
}

export function shape({ trace, root }: Found): string {
  return shapeBelow(trace, [root]).join('\n')
}
