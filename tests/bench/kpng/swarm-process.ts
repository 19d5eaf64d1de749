/**
 * Many nodes in one process: `node swarm-process.js SOCKET NODES`. Each has a connection of its own and does what a
 * backend does: asks, reads, asks again. They speak HTTP/2 directly, so that the machine's time goes to the server.
 */
import { connect } from 'node:http2'
import type { ClientHttp2Stream } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Endpoint, OpItem, Set as Sets, WatchReq } from '../../../src/kpng/proto/generated/localv1/api.ts'
import { sharedClockMs } from '../core/shared-clock.ts'
import { spreadOf } from '../statistics.ts'
import type { FromSwarm, SwarmReport, ToSwarm } from './swarm-messages.ts'

const [socketPath = '', count = ''] = process.argv.slice(2)
const nodes = Number(count)
/** By the number of the change, when each node saw it. */
const arrivals: Float64Array[] = []
let changeSets = 0
let waiting = nodes
let services = 0
let endpoints = 0

for (let node = 0; node < nodes; node++) {
  startNode(node)
  // As nodes join one after the other.
  if (node % 20 === 19) await sleep(20)
}
process.on('message', ({ changedAtMs }: ToSwarm) => void report(changedAtMs))
process.on('disconnect', () => process.exit())

function startNode(node: number): void {
  const session = connect('http://localhost', { createConnection: () => connectSocket(socketPath) })
  const stream = session.request({
    ':method': 'POST',
    ':path': '/localv1.Sets/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  const request = frame(WatchReq.encode({ NodeName: `node-${node}` }).finish())
  let isFirst = true
  let rest = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    const atMs = sharedClockMs()
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (bytes.length - at >= 5) {
      const end = at + 5 + bytes.readUInt32BE(at + 1)
      if (end > bytes.length) break
      onOperation(node, OpItem.decode(bytes.subarray(at + 5, end)), atMs, stream)
      at = end
    }
    rest = Buffer.from(bytes.subarray(at))
  })
  stream.write(request)

  function onOperation(index: number, { Op: op }: OpItem, atMs: number, call: ClientHttp2Stream): void {
    if (op?.$case === 'Sync') {
      call.write(request)
      if (!isFirst) changeSets++
      else if (--waiting === 0) tell({ kind: 'synced', services, endpoints })
      isFirst = false
    } else if (op?.$case === 'Set' && op.value.Ref?.Set === Sets.EndpointsSet) {
      const [address = ''] = Endpoint.decode(op.value.Bytes).IPs?.V4 ?? []
      if (isFirst && index === 0) endpoints++
      const change = changeOf(address)
      if (change !== undefined) (arrivals[change] ??= new Float64Array(nodes))[index] = atMs
    } else if (op?.$case === 'Set' && isFirst && index === 0) services++
  }
}

function frame(message: Uint8Array): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(message.length, 1)
  return Buffer.concat([header, message])
}

/** The benchmark's API server gives the pod of its n-th change the address 11.0.0.0 + n. */
function changeOf(address: string): number | undefined {
  const [first, , third = 0, fourth = 0] = address.split('.').map(Number)
  return first === 11 ? third * 256 + fourth : undefined
}

async function report(changedAtMs: readonly number[]): Promise<void> {
  const missing = () =>
    changedAtMs.reduce((sum, _, n) => sum + (arrivals[n + 1]?.filter((atMs) => atMs === 0).length ?? nodes), 0)
  for (let tries = 0; tries < 100 && missing() > 0; tries++) await sleep(100)
  const delays = changedAtMs.flatMap((sentMs, n) =>
    Array.from(arrivals[n + 1] ?? [], (atMs) => atMs - sentMs).filter((delay) => delay > -1e6),
  )
  const { median, p99, max } = spreadOf(delays)
  const result: SwarmReport = {
    missing: missing(),
    medianMs: median,
    p99Ms: p99,
    maxMs: max,
    changeSets: changeSets / nodes,
  }
  tell({ kind: 'report', report: result })
}

function tell(message: FromSwarm): void {
  process.send?.(message)
}
