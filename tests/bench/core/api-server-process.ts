/**
 * An API server for benchmarks, in a process of its own. It speaks the list and watch protocols over plain HTTP and
 * has every answer ready as bytes, so that it is never what one waits for. The first part of the path says how it
 * answers the first question of a client:
 *
 * - `/stream`: a watch with `sendInitialEvents`, as API servers since 1.34 do
 * - `/whole`: no such thing; a LIST comes in one piece, as older API servers answer from their cache
 * - `/pages`: no such thing; a LIST comes in pages, as the client asks
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FromApiServer, ToApiServer } from './api-server-messages.ts'
import { serviceName, sliceObject } from './cluster-objects.ts'
import { preparedResources } from './prepared-resource.ts'
import { sharedClockMs } from './shared-clock.ts'
import { httpChunk, watchEvent } from './watch-bytes.ts'

const services = Number(process.argv[2])
const resourcesByPath = preparedResources(services, process.argv[3] === 'special')
const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const watchesByPath = new Map([...resourcesByPath.keys()].map((path) => [path, new Set<ServerResponse>()]))
let version = services + 1
let moved = 0

const server = createServer(answer)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
tell({ kind: 'ready', port: (server.address() as AddressInfo).port, bytes: bytesOfStream() })
process.on('message', (message: ToApiServer) => {
  void changeEndpoints(message).then((done) => tell({ kind: 'changed', ...done }))
})
process.on('disconnect', () => process.exit())

function tell(message: FromApiServer): void {
  process.send?.(message)
}

function bytesOfStream(): number {
  return [...resourcesByPath.values()].reduce((sum, { initialEvents }) => sum + initialEvents.length, 0)
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '', 'http://localhost')
  const [, mode, path = ''] = /^\/(stream|whole|pages)(\/.+)$/.exec(url.pathname) ?? []
  const resource = resourcesByPath.get(path)
  const isStreamingList = url.searchParams.get('sendInitialEvents') === 'true'
  if (resource === undefined) refuse(response, 404, 'NotFound')
  else if (isStreamingList && mode !== 'stream') refuse(response, 422, 'Invalid')
  else if (isStreamingList) {
    openWatch(path, response)
    // The events are already in chunks as HTTP wants them, one for each event, which is how API servers flush.
    response.socket?.write(resource.initialEvents, () => tell({ kind: 'sent', path, atMs: sharedClockMs() }))
  } else if (url.searchParams.get('watch') === 'true') openWatch(path, response)
  else {
    const page = mode === 'whole' ? resource.whole : resource.pages[Number(url.searchParams.get('continue') ?? 0)]
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': page?.length ?? 0 })
    response.end(page, () => tell({ kind: 'sent', path, atMs: sharedClockMs() }))
  }
}

function refuse(response: ServerResponse, code: number, reason: string): void {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, message: reason, code }
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(status))
}

function openWatch(path: string, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
  response.flushHeaders()
  watchesByPath.get(path)?.add(response)
  tell({ kind: 'watched', path })
  response.on('close', () => watchesByPath.get(path)?.delete(response))
}

/** Replaces one endpoint each of as many different Services. Tells when the event of each was written. */
async function changeEndpoints(request: ToApiServer): Promise<Pick<Changed, 'changes' | 'bytes'>> {
  const { changes: count, pauseMs, from = 0 } = request
  const changes: (readonly [string, number])[] = []
  let bytes = 0
  const step = Math.floor(services / count)
  const startedMs = sharedClockMs()
  for (let change = 0; change < count; change++) {
    const index = (from + change * step) % services
    const event = watchEvent('MODIFIED', sliceObject(index, ++version, ++moved))
    const { namespace, name } = serviceName(index)
    bytes += event.length
    const framed = httpChunk(event)
    changes.push([`${namespace}/${name}`, sharedClockMs()])
    // The response would frame and write it only after this turn.
    for (const watch of watchesByPath.get(slices) ?? []) watch.socket?.write(framed)
    // By the clock: a timer that was late does not make the next one later.
    const waitMs = startedMs + (change + 1) * pauseMs - sharedClockMs()
    if (waitMs > 0) await sleep(waitMs)
  }
  return { changes, bytes }
}

type Changed = Extract<FromApiServer, { readonly kind: 'changed' }>
