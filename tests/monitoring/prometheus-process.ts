/** A real Prometheus that scrapes every second, where the machine has one. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { stringify } from 'yaml'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { get } from '../e2e/testing/clients.ts'
import { eventually } from '../e2e/testing/eventually.ts'

/** Undefined when there is one; otherwise what to install. */
export const whyNoPrometheus =
  spawnSync('prometheus', ['--version'], { stdio: 'ignore' }).status === 0
    ? undefined
    : 'no prometheus found; install prometheus'

export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

export class PrometheusProcess implements AsyncDisposable {
  readonly #folder: TemporaryFolder
  readonly #child: ChildProcess
  readonly #url: string
  #output = ''

  private constructor(folder: TemporaryFolder, configFile: string, port: number) {
    this.#folder = folder
    this.#url = `http://127.0.0.1:${port}`
    this.#child = spawn('prometheus', [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${folder.path}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ])
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#output += text))
  }

  static async start(targets: readonly string[]): Promise<PrometheusProcess> {
    const folder = await TemporaryFolder.make()
    const { port } = await freePorts('port')
    const configFile = await folder.write(
      'prometheus.yaml',
      stringify({
        global: { scrape_interval: '1s' },
        scrape_configs: [{ job_name: 'kube-system/fairlead', static_configs: [{ targets }] }],
      }),
    )
    const prometheus = new PrometheusProcess(folder, configFile, port)
    try {
      await eventually(async () => {
        const { status } = await get(`${prometheus.#url}/-/ready`)
        if (status !== 200) throw new Error(`Prometheus is not ready:\n${prometheus.#output}`)
      })
    } catch (error) {
      await prometheus[Symbol.asyncDispose]()
      throw error
    }
    return prometheus
  }

  /** What the expression is now. */
  async ask(promql: string): Promise<readonly Sample[]> {
    const { status, body } = await get(`${this.#url}/api/v1/query?${new URLSearchParams({ query: promql }).toString()}`)
    const answer = JSON.parse(body) as { error?: string; data?: { resultType: string; result: unknown } }
    if (status !== 200 || answer.data === undefined) throw new Error(`Prometheus refuses ${promql}: ${answer.error}`)
    const { resultType, result } = answer.data
    return resultType === 'scalar' ? [{ metric: {}, value: result as Sample['value'] }] : (result as Sample[])
  }

  /** Waits until it has asked each of so many targets twice from now on. */
  async scrapesAll(targets: number): Promise<void> {
    const [, now] = (await this.ask('time()'))[0]?.value ?? []
    await eventually(async () => {
      const asked = await this.ask(`timestamp(up) > ${now} + 2`)
      if (asked.length < targets) throw new Error(`Prometheus asked ${asked.length} of ${targets}:\n${this.#output}`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) {
      const closed = once(this.#child, 'close')
      this.#child.kill('SIGKILL')
      await closed
    }
    await this.#folder[Symbol.asyncDispose]()
  }
}
