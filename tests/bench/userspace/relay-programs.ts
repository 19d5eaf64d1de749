/** The relays that are compared, and the endpoint and client that they stand between. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compileForUse } from '../../../tools/compile-native-relay.ts'
import type { BenchOptions } from '../bench-group.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { RunningProgram } from './running-program.ts'

export type Engine = 'native' | 'node'

export interface RelayProgram {
  readonly name: string
  /** Starts it in front of an endpoint on loopback; resolves when it accepts connections. */
  start(endpointPort: number): Promise<RunningRelay>
}

export interface RunningRelay extends AsyncDisposable {
  readonly port: number
  /** Undefined where there is no relay. */
  readonly process: RunningProgram | undefined
}

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const peer = join(root, '.cache/bench/userspace-peer')

/** Without Go there is neither endpoint nor client. */
export async function buildPeer(): Promise<void> {
  const sources = fileURLToPath(new URL('./peer/', import.meta.url))
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin:/usr/lib/go/bin` }
  await run('go', ['build', '-o', peer, '.'], { cwd: sources, env }).catch((cause: unknown) => {
    throw new Error('the client and the endpoint could not be built: install Go 1.24 or later', { cause })
  })
}

/** Where the compiled scripts look for it. */
export async function buildNativeEngine(): Promise<void> {
  const folder = `.cache/bench/compiled/src/native/${process.platform}-${process.arch}`
  await compileForUse(join(root, folder, 'fairlead-relay'))
}

export async function relayPrograms({ progress }: BenchOptions): Promise<readonly RelayProgram[]> {
  const hasHaproxy = await run('haproxy', ['-v']).then(
    () => true,
    () => false,
  )
  if (!hasHaproxy) progress('measuring without HAProxy: it is not installed (apt-get install haproxy)')
  return [direct, goRelay, ...(hasHaproxy ? [haproxy] : []), fairlead('native'), fairlead('node')]
}

/** On loopback, unless an address is given. */
export async function startEndpoint(ip = '127.0.0.1'): Promise<RunningProgram & { readonly port: number }> {
  const endpoint = new RunningProgram(['env', `BENCH_IP=${ip}`, peer, 'endpoint'])
  const { port } = await endpoint.nextLine<{ port: number }>()
  return Object.assign(endpoint, { port })
}

export function startLoad(
  port: number,
  kind: string,
  connections: number,
  milliseconds: number,
  ip = '127.0.0.1',
): RunningProgram {
  const load = ['load', `${port}`, kind, `${connections}`, `${milliseconds}`]
  return new RunningProgram(['env', `BENCH_IP=${ip}`, peer, ...load])
}

const direct: RelayProgram = {
  name: 'direct',
  start: (port) => Promise.resolve({ port, process: undefined, [Symbol.asyncDispose]: () => Promise.resolve() }),
}

const goRelay: RelayProgram = {
  name: 'Go, io.Copy',
  start: (endpointPort) => announced(new RunningProgram([peer, 'relay', `127.0.0.1:${endpointPort}`])),
}

function fairlead(engine: Engine): RelayProgram {
  return fairleadTracing(engine, 0, `Fairlead, ${engine}`)
}

/** With the counters that it always has, and with a trace of one connection in so many. */
export function fairleadTracing(engine: Engine, oneIn: number, name: string, checkout = root): RelayProgram {
  return {
    name,
    start(endpointPort) {
      const script = compiledScript(new URL('./fairlead-relay-process.ts', import.meta.url), checkout)
      return announced(new RunningProgram([process.execPath, script, `${endpointPort}`, engine, `${oneIn}`]))
    },
  }
}

const haproxy: RelayProgram = {
  name: 'HAProxy',
  async start(endpointPort) {
    const port = await freePort()
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'))
    const config = join(directory, 'haproxy.cfg')
    await writeFile(config, haproxyConfig(port, endpointPort))
    const relay = new RunningProgram(['haproxy', '-db', '-q', '-f', config])
    await untilAccepting(port, 'HAProxy')
    return {
      port,
      process: relay,
      async [Symbol.asyncDispose]() {
        await relay[Symbol.asyncDispose]()
        await rm(directory, { recursive: true })
      },
    }
  },
}

function haproxyConfig(port: number, endpointPort: number): string {
  return `global
  maxconn 9000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen bench
  bind 127.0.0.1:${port} backlog 4096
  server endpoint 127.0.0.1:${endpointPort}
`
}

async function announced(relay: RunningProgram): Promise<RunningRelay> {
  const { port } = await relay.nextLine<{ port: number }>()
  return { port, process: relay, [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose]() }
}

/** Nobody else takes it: the kernel gives out other ports first. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** One request has been answered. */
export async function untilAccepting(port: number, name: string): Promise<void> {
  const deadline = performance.now() + 10_000
  while (performance.now() < deadline) {
    await using probe = startLoad(port, 'idle', 1, 0)
    const { failures } = await probe.nextLine<{ failures: number }>()
    if (failures === 0) return
  }
  throw new Error(`${name} does not answer on port ${port}: its output is above`)
}
