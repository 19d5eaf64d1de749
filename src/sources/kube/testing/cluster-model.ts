/** A small API server for one kind of object, with a history that can be compacted and connections that break. */
import type { Exchange } from './fault-server.ts'
import { bookmark, thing, thingList } from './recording-sink.ts'

export type Fault =
  | { readonly kind: 'none' }
  /** The connection breaks, or ends properly, after this many bytes, even inside a line or a character. */
  | { readonly kind: 'cut' | 'end'; readonly afterBytes: number }
  | { readonly kind: 'status'; readonly code: 410 | 429 | 500 | 503 }

export type StreamingSupport = 'yes' | 'refuses' | 'ignores'

interface HistoryEntry {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly name: string
}

/** Pages are this small whatever the client asks for, so that lists have several. */
const pageSize = 2

export class ClusterModel {
  readonly #versionsByName = new Map<string, number>()
  readonly #history: HistoryEntry[] = []
  readonly #streaming: StreamingSupport
  readonly #faults: Fault[]
  readonly #watchers = new Set<Pipe>()
  #version = 100
  #oldestVersion = 100

  constructor(streaming: StreamingSupport, faults: readonly Fault[]) {
    this.#streaming = streaming
    this.#faults = [...faults]
  }

  /** `a@101 b@103`, sorted: as RecordingSink shows it. */
  get content(): string {
    return [...this.#versionsByName]
      .map(([name, version]) => `${name}@${version}`)
      .sort()
      .join(' ')
  }

  put(name: string): void {
    const type = this.#versionsByName.has(name) ? 'MODIFIED' : 'ADDED'
    this.#versionsByName.set(name, ++this.#version)
    this.#publish({ version: this.#version, type, name })
  }

  delete(name: string): void {
    if (this.#versionsByName.delete(name)) this.#publish({ version: ++this.#version, type: 'DELETED', name })
  }

  /** Forgets the history: watches from older versions get a 410 from now on, and so do pages of older lists. */
  compact(): void {
    this.#version++
    this.#oldestVersion = this.#version
    this.#history.length = 0
  }

  sendBookmarks(): void {
    for (const pipe of this.#watchers) pipe.send('BOOKMARK', bookmark(this.#version))
  }

  cutAll(): void {
    for (const pipe of this.#watchers) pipe.cut()
    this.#watchers.clear()
  }

  answer(exchange: Exchange): void {
    const fault = this.#faults.shift() ?? { kind: 'none' }
    const query = exchange.request.url.searchParams
    if (fault.kind === 'status') return exchange.status(fault.code, fault.code === 410 ? 'Expired' : 'Failure')
    const pipe = new Pipe(exchange, fault)
    if (query.get('watch') !== 'true') this.#list(exchange, query, pipe)
    else if (query.get('sendInitialEvents') === 'true') this.#streamingList(exchange, query, pipe)
    else this.#watch(Number(query.get('resourceVersion')), pipe)
  }

  #list(exchange: Exchange, query: URLSearchParams, pipe: Pipe): void {
    const [listVersion = this.#version, from = 0] = (query.get('continue') ?? '').split(':').filter(Boolean).map(Number)
    // A page shows the objects as they were at the first page, so a change in between expires it here.
    if (listVersion !== this.#version) return exchange.status(410, 'Expired', 'the continue token is too old')
    const names = [...this.#versionsByName.keys()].sort()
    const isPaged = query.has('limit')
    const page = isPaged ? names.slice(from, from + pageSize) : names
    const more = isPaged && from + pageSize < names.length ? `${listVersion}:${from + pageSize}` : undefined
    exchange.open()
    pipe.write(
      JSON.stringify(
        thingList(
          listVersion,
          page.map((name) => this.#object(name)),
          more,
        ),
      ),
    )
    pipe.end()
  }

  #streamingList(exchange: Exchange, query: URLSearchParams, pipe: Pipe): void {
    if (this.#streaming === 'refuses') return exchange.status(422, 'Invalid', 'sendInitialEvents is forbidden')
    if (Number(query.get('resourceVersion') ?? 0) > this.#version) return exchange.status(500, 'Timeout')
    exchange.open()
    for (const name of [...this.#versionsByName.keys()].sort()) pipe.send('ADDED', this.#object(name))
    pipe.send('BOOKMARK', bookmark(this.#version, this.#streaming === 'yes'))
    this.#watchers.add(pipe)
  }

  #watch(from: number, pipe: Pipe): void {
    pipe.open()
    if (from < this.#oldestVersion)
      return pipe.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' })
    for (const entry of this.#history) if (entry.version > from) this.#sendEntry(pipe, entry)
    this.#watchers.add(pipe)
  }

  #publish(entry: HistoryEntry): void {
    this.#history.push(entry)
    for (const pipe of this.#watchers) this.#sendEntry(pipe, entry)
  }

  #sendEntry(pipe: Pipe, { type, name, version }: HistoryEntry): void {
    pipe.send(type, thing(name, version, valueOf(name, version)))
  }

  #object(name: string): unknown {
    const version = this.#versionsByName.get(name) ?? 0
    return thing(name, version, valueOf(name, version))
  }
}

export function valueOf(name: string, version: number | string): string {
  return `höhe 🚢 ${name}/${version}`
}

/** Writes until the fault. */
class Pipe {
  readonly #exchange: Exchange
  readonly #fault: Fault
  #bytesLeft: number
  #isOver = false

  constructor(exchange: Exchange, fault: Fault) {
    this.#exchange = exchange
    this.#fault = fault
    this.#bytesLeft = fault.kind === 'cut' || fault.kind === 'end' ? fault.afterBytes : Infinity
  }

  open(): void {
    this.#exchange.open()
  }

  send(type: string, object: unknown): void {
    this.write(JSON.stringify({ type, object }) + '\n')
  }

  write(text: string): void {
    if (this.#isOver) return
    const bytes = Buffer.from(text)
    this.#exchange.write(bytes.subarray(0, Math.min(bytes.length, this.#bytesLeft)))
    this.#bytesLeft -= bytes.length
    if (this.#bytesLeft > 0) return
    if (this.#fault.kind === 'end') this.end()
    else this.cut()
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#exchange.end()
  }

  cut(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#exchange.cut()
  }
}
