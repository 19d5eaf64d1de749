/** The page and what it is made of. Nothing is read before somebody looks. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { plainText, reply } from '../../http/reply.ts'

/** By name: `index.html`, `assets/console-0123456789ab.js`. Empty if the page was not built. */
export type ReadConsoleFiles = () => Promise<ReadonlyMap<string, Uint8Array>>

interface Served {
  readonly type: string
  readonly tag: string
  readonly plain: Uint8Array
  readonly zipped: Uint8Array
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  txt: plainText,
}

export class ConsoleFiles {
  readonly #read: ReadConsoleFiles
  #served: Promise<ReadonlyMap<string, Served>> | undefined

  constructor(read: ReadConsoleFiles) {
    this.#read = read
  }

  async page(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const page = (await this.#files()).get('index.html')
    if (page === undefined)
      return reply(response, 503, { 'Content-Type': plainText }, 'the page is missing: "npm run build" makes it\n')
    send(page, request, response)
  }

  /** Their names change with their content, so a browser asks once. */
  async asset(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asset = (await this.#files()).get(name)
    if (asset === undefined) return reply(response, 404, { 'Content-Type': plainText }, `there is no /${name}\n`)
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    send(asset, request, response)
  }

  #files(): Promise<ReadonlyMap<string, Served>> {
    this.#served ??= this.#load().catch((error: unknown) => {
      this.#served = undefined
      throw error
    })
    return this.#served
  }

  async #load(): Promise<ReadonlyMap<string, Served>> {
    const files = await this.#read()
    return new Map(
      await Promise.all([...files].map(async ([name, bytes]) => [name, await served(name, bytes)] as const)),
    )
  }
}

async function served(name: string, plain: Uint8Array): Promise<Served> {
  return {
    type: types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    tag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    plain,
    zipped: await promisify(gzip)(plain, { level: 9 }),
  }
}

function send({ type, tag, plain, zipped }: Served, request: IncomingMessage, response: ServerResponse): void {
  const isZipped = acceptsGzip(request)
  const etag = `"${tag}${isZipped ? '-gzip' : ''}"`
  response.setHeader('ETag', etag)
  response.setHeader('Vary', 'Accept-Encoding')
  if (request.headers['if-none-match']?.split(/ *, */).includes(etag) === true) {
    response.writeHead(304).end()
    return
  }
  const body = isZipped ? zipped : plain
  if (isZipped) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.byteLength })
  response.end(body)
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  return /(^|[ ,])(gzip|\*)(?! *; *q=0(\.0*)?( *,| *$))/i.test(headers['accept-encoding'] ?? '')
}
