/** The running demo, and what it told about itself. */
import { readdir, readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import type { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { FairleadProcess } from './fairlead-process.ts'

export interface DemoService {
  readonly ip: string
  readonly port: number
  /** `http://ip:port`. */
  readonly url: string
  /** The last column as it stands. */
  readonly endpoints: string
}

export class DemoProcess implements AsyncDisposable {
  readonly process: FairleadProcess
  readonly #temporary: string

  private constructor(args: readonly string[], temporary: string) {
    // The demo's own folder lies in the test's: nothing is left behind, however the demo ends.
    this.process = new FairleadProcess(['demo', ...args], { env: { TMPDIR: temporary } })
    this.#temporary = temporary
  }

  /** Returns once the table and the hints below it are printed. */
  static async start(folder: TemporaryFolder, ...args: readonly string[]): Promise<DemoProcess> {
    // Demos of several tests run at the same time.
    const demo = new DemoProcess(['--console-port=0', ...args], folder.path)
    try {
      await demo.process.says('Stop with Ctrl-C.')
    } catch (error) {
      await demo[Symbol.asyncDispose]()
      throw error
    }
    return demo
  }

  /** A Service of the table, such as `shop/web:http`. */
  service(name: string): DemoService {
    const line = this.process.stdout.split('\n').find((candidate) => candidate.startsWith(`${name} `))
    const [, howToTry = '', endpoints = ''] = line?.split(/ {3,}/) ?? []
    const [, ip = '', port = ''] = /(\d+\.\d+\.\d+\.\d+)[: ](\d+)$/.exec(howToTry) ?? []
    if (port === '') throw new Error(`the table has no address for ${name}:\n${this.process.stdout}`)
    return { ip, port: Number(port), url: `http://${ip}:${port}`, endpoints }
  }

  /** The address of its page. */
  get consoleUrl(): string {
    return /^Open (\S+)/m.exec(this.process.stdout)?.[1] ?? ''
  }

  get kubeconfig(): string {
    const [, path] = /KUBECONFIG=(\S+)/.exec(this.process.stdout) ?? []
    if (path === undefined) throw new Error(`no kubeconfig in:\n${this.process.stdout}`)
    return path
  }

  /** The sample application, to be applied again. */
  get manifests(): string {
    return /kubectl apply -f (\S+)/.exec(this.process.stdout)?.[1] ?? ''
  }

  /** Where its API server is. */
  async apiUrl(): Promise<string> {
    const { clusters } = parse(await readFile(this.kubeconfig, 'utf8')) as {
      clusters: [{ cluster: { server: string } }]
    }
    return clusters[0].cluster.server
  }

  /** What it made in the folder for temporary files and has not removed. */
  temporaryFolders(): Promise<string[]> {
    return readdir(this.#temporary).then((names) => names.filter((name) => name.startsWith('fairlead-demo-')))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]()
  }
}
