import { join } from 'node:path'
import { freePorts } from './free-ports.ts'
import { buildProgram } from './programs.ts'
import { ServerProcess } from './server-process.ts'

/** A real etcd with one member and its data in a folder of the test. */
export class Etcd implements AsyncDisposable {
  readonly url: string
  readonly #process: ServerProcess

  private constructor(url: string, process: ServerProcess) {
    this.url = url
    this.#process = process
  }

  static async start(folder: string): Promise<Etcd> {
    const ports = await freePorts('client', 'peer')
    const [url, peerUrl] = [`http://127.0.0.1:${ports.client}`, `http://127.0.0.1:${ports.peer}`]
    const process = new ServerProcess('etcd', await buildProgram('etcd'), [
      '--data-dir', join(folder, 'etcd'),
      '--listen-client-urls', url,
      '--advertise-client-urls', url,
      '--listen-peer-urls', peerUrl,
      '--initial-advertise-peer-urls', peerUrl,
      '--initial-cluster', `default=${peerUrl}`,
      // Nobody needs the data after a power cut.
      '--unsafe-no-fsync',
    ], join(folder, 'etcd.log')) // prettier-ignore
    const etcd = new Etcd(url, process)
    try {
      await process.waitUntil('healthy', async () => (await fetch(`${url}/health`)).ok)
    } catch (error) {
      await etcd[Symbol.asyncDispose]()
      throw error
    }
    return etcd
  }

  /** Forgets every revision but the present one, which makes the API server answer 410 to whoever asks for older. */
  async compact(): Promise<void> {
    const range = await this.#post<{ header: { revision: string } }>('kv/range', { key: 'AA==', limit: '1' })
    await this.#post('kv/compaction', { revision: range.header.revision, physical: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }

  async #post<Answer>(path: string, body: object): Promise<Answer> {
    const response = await fetch(`${this.url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`etcd refused ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
}
