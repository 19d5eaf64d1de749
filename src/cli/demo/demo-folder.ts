/** Where the demo puts the files it makes for its user: the data directory, or a folder that goes when the demo ends. */
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { writeKubeconfig } from '../../embedded/kubeconfig-file.ts'
import { CommandError } from '../program.ts'

export class DemoFolder implements AsyncDisposable {
  readonly kubeconfig: string
  /** The sample application, to be applied again. */
  readonly manifests: string
  readonly #temporary: string | undefined
  readonly #removeAtExit = () => {
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true })
  }

  private constructor(folder: string, isTemporary: boolean, kubeconfigOut: string) {
    this.#temporary = isTemporary ? folder : undefined
    this.kubeconfig = kubeconfigOut === '' ? join(folder, 'kubeconfig') : kubeconfigOut
    this.manifests = join(folder, 'shop.yaml')
    // A second Ctrl-C ends the process without disposing of anything.
    process.once('exit', this.#removeAtExit)
  }

  /** An empty `dataDir` asks for a temporary folder; `kubeconfigOut` may be empty too. */
  static async open(dataDir: string, kubeconfigOut: string): Promise<DemoFolder> {
    const out = kubeconfigOut === '' ? '' : resolve(kubeconfigOut)
    if (out !== '') await mustBeOurs(out)
    return dataDir === '' ? new DemoFolder(await temporaryFolder(), true, out) : new DemoFolder(dataDir, false, out)
  }

  async writeKubeconfig(url: string): Promise<void> {
    await writeKubeconfig(this.kubeconfig, url).catch(cannotWrite(this.kubeconfig))
  }

  async writeManifests(objects: readonly object[]): Promise<void> {
    const text = objects.map((object) => stringify(object)).join('---\n')
    await writeFile(this.manifests, text).catch(cannotWrite(this.manifests))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.removeListener('exit', this.#removeAtExit)
    if (this.#temporary !== undefined) await rm(this.#temporary, { recursive: true, force: true })
  }
}

async function temporaryFolder(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'fairlead-demo-'))
  } catch (error) {
    throw new CommandError(
      `cannot make a folder in ${tmpdir()}, where temporary files go: ${reasonOf(error)}; ` +
        'set TMPDIR to a folder that you may write to, or give --data-dir',
      { cause: error },
    )
  }
}

/** Refuses to overwrite a kubeconfig that the demo did not write: it may hold credentials. */
async function mustBeOurs(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined || isOurs(text)) return
  throw new CommandError(`--kubeconfig-out=${path} already holds something else: name a file that does not exist yet`)
}

function isOurs(text: string): boolean {
  try {
    const { clusters, users } = parse(text) as { clusters?: { name?: unknown }[]; users?: { user?: object }[] }
    return (
      clusters?.length === 1 && clusters[0]?.name === 'fairlead' && Object.keys(users?.[0]?.user ?? {}).length === 0
    )
  } catch {
    return false
  }
}

function cannotWrite(path: string): (error: unknown) => never {
  return (error) => {
    throw new CommandError(`cannot write ${path}: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
