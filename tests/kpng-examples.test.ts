/** The examples do what they say. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'
import { FairleadProcess } from './e2e/testing/fairlead-process.ts'
import { manifest, service, slice } from './e2e/testing/objects.ts'
import type { KubernetesObject } from './e2e/testing/objects.ts'
import { buildGo } from './kpng-interop/build-go.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const aWhile = { timeout: 60_000, interval: 50 }

test('the TypeScript backend keeps a file equal to the Services', { timeout: 120_000 }, async () => {
  await using core = await Core.start()
  const file = join(core.folder.path, 'nginx.conf')
  await using backend = new Example(process.execPath, [
    '--import',
    'tsx',
    'examples/nginx-backend/backend.ts',
    core.api,
    file,
  ])
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8'), aWhile).toContain('server 127.0.0.1:8080;')
  expect(readFileSync(file, 'utf8')).toContain('listen 10.96.0.10:80;')
  await core.write('web-1', slice('web', 9090))
  await expect.poll(() => readFileSync(file, 'utf8'), aWhile).toContain('server 127.0.0.1:9090;')
  expect(backend.output).toMatch(/^everything: 2 set, 0 removed\n(?:INFO .*\n)?a change: /)
})

test('the shell backend counts what it is told', { timeout: 120_000 }, async () => {
  await using core = await Core.start()
  const script = ['--', join(root, 'examples/shell-backend/backend.sh')]
  await using exec = new FairleadProcess(['api', 'to-exec', `--api=${core.api}`, '--node-name=node1', ...script])
  await exec.says('this is node node1\neverything anew\n2 set, 0 removed\n')
  await core.write('other', service('other', 81, { clusterIP: '10.96.0.11' }))
  await exec.says('1 set, 0 removed\n')
  exec.send('SIGTERM')
  expect(await exec.ended()).toEqual({ code: 0, signal: null })
})

const hasGo = spawnSync('go', ['version']).status === 0
let goProgram = ''
beforeAll(async () => {
  if (hasGo) goProgram = await buildGo(new URL('../examples/go-backend/', import.meta.url))
}, 600_000)

test.skipIf(!hasGo)(
  `the Go backend prints the state${hasGo ? '' : ' [skipped: there is no go]'}`,
  { timeout: 120_000 },
  async () => {
    await using core = await Core.start()
    await using backend = new Example(goProgram, [core.api, 'node1'])
    await expect.poll(() => backend.output, aWhile).toContain('service default/web ClusterIP [10.96.0.10]\n')
    expect(backend.output).toMatch(/endpoint default\/web\/[\da-f]+ \[127\.0\.0\.1\] local: false\n---\n/)
  },
)

/** A core with one Service from files. */
class Core implements AsyncDisposable {
  readonly folder: TemporaryFolder
  readonly #process: FairleadProcess

  private constructor(folder: TemporaryFolder) {
    this.folder = folder
    this.#process = new FairleadProcess(['file', 'to-api', `--api=${this.api}`, '-i', join(folder.path, 'objects')])
  }

  static async start(): Promise<Core> {
    const folder = await TemporaryFolder.make()
    await mkdir(join(folder.path, 'objects'))
    await folder.write('objects/web.yaml', manifest(service('web', 80, { clusterIP: '10.96.0.10' })))
    await folder.write('objects/web-1.yaml', manifest(slice('web', 8080)))
    const core = new Core(folder)
    await core.#process.says('serving the KPNG API')
    return core
  }

  get api(): string {
    return `unix://${this.folder.path}/core.sock`
  }

  async write(name: string, ...objects: readonly KubernetesObject[]): Promise<void> {
    await this.folder.write(`objects/${name}.yaml`, manifest(...objects))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
    await this.folder[Symbol.asyncDispose]()
  }
}

class Example implements AsyncDisposable {
  output = ''
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(program, args, { cwd: root, env: { ...process.env, NODE_NAME: 'node1' } })
    this.#exited = once(this.#child, 'exit')
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGTERM')
    await this.#exited
  }
}
