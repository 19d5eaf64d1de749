/** A configuration file as a ConfigMap volume has it: a link to a link, which is swapped. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../../src/cli/daemon/load-config.ts'
import { thisHost } from '../../../src/cli/host/this-host.ts'
import { parseDaemonCommandLine } from '../../../src/config/daemon/parse-daemon-command-line.ts'
import { renderConfigYaml } from '../../../src/config/file/render-config.ts'
import { proxyFlags } from './proxy-flags.ts'
import type { ProxyMode, ProxySettings } from './proxy.ts'

export class ConfigVolume implements AsyncDisposable {
  readonly #folder: string
  #version = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async make(content: string): Promise<ConfigVolume> {
    const volume = new ConfigVolume(await mkdtemp(join(tmpdir(), 'fairlead-config-')))
    await volume.write(content)
    await symlink('..data/config.yaml', volume.path)
    return volume
  }

  get path(): string {
    return join(this.#folder, 'config.yaml')
  }

  /** As the kubelet does it. */
  async write(content: string): Promise<void> {
    const version = `..${++this.#version}`
    await mkdir(join(this.#folder, version))
    await writeFile(join(this.#folder, version, 'config.yaml'), content)
    await symlink(version, join(this.#folder, '..data_tmp'))
    await rename(join(this.#folder, '..data_tmp'), join(this.#folder, '..data'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }
}

/** The file that says what the flags of other tests say. */
export async function configOf(mode: ProxyMode, settings: ProxySettings): Promise<string> {
  const parsed = parseDaemonCommandLine([...proxyFlags(mode, settings), '-v=2'], 'linux')
  if (parsed.kind !== 'run') throw new Error(`the flags of the test are refused: ${JSON.stringify(parsed)}`)
  const { config } = await loadConfig(parsed.options, thisHost())
  return renderConfigYaml({ ...config, hostnameOverride: '' })
}
