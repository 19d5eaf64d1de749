/**
 * A daemon in nftables mode with many Services, in a network namespace that the browser shares. The API server is that of
 * the benchmarks: it makes as many changes a second as one likes.
 */
import { once } from 'node:events'
import type { ChildProcess } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { ApiServer } from '../../bench/core/api-server.ts'
import { nodeName, podRange } from '../../bench/core/cluster-objects.ts'
import { missingPrograms } from '../../packet/testing/iptables-variant.ts'
import { Namespace, namespaceProblem } from '../../packet/testing/namespace.ts'
import { chromiumPath, launchChromium } from './chromium.ts'

/** Why there can be none here; undefined when there can. */
export const whyNoLargeCluster = namespaceProblem() ?? missingPrograms('ip', 'nft', 'nsenter', 'setpriv')

const root = fileURLToPath(new URL('../../..', import.meta.url))
const port = 10257

export class LargeCluster implements AsyncDisposable {
  readonly url = `http://127.0.0.1:${port}`
  readonly server: ApiServer
  readonly browser: Browser
  readonly #daemon: ChildProcess
  readonly #folder: TemporaryFolder
  readonly #namespace: Namespace

  private constructor(
    parts: { server: ApiServer; browser: Browser; daemon: ChildProcess },
    folder: TemporaryFolder,
    namespace: Namespace,
  ) {
    this.server = parts.server
    this.browser = parts.browser
    this.#daemon = parts.daemon
    this.#folder = folder
    this.#namespace = namespace
  }

  static async start(services: number): Promise<LargeCluster> {
    const folder = await TemporaryFolder.make()
    const namespace = Namespace.make()
    const script = `${folder.path}/api-server.mjs`
    const entryPoints = [`${root}/tests/bench/core/api-server-process.ts`]
    await build({ entryPoints, outfile: script, bundle: true, platform: 'node', format: 'esm', target: 'node20' })
    // It is started before the first turn of the event loop, so in the namespace.
    const server = await namespace.enter(() => ApiServer.start(script, services))
    const daemon = namespace.start(process.execPath, [`${root}/bin/fairlead.js`, ...flags(server)], process.env)
    daemon.stdout.resume()
    daemon.stderr.resume()
    const wrapper = await folder.write(
      'chromium',
      `#!/bin/sh\nexec nsenter --net=${namespace.path} ${chromiumPath} "$@"\n`,
    )
    await chmod(wrapper, 0o755)
    const browser = await launchChromium({ through: wrapper })
    return new LargeCluster({ server, browser, daemon }, folder, namespace)
  }

  get daemonPid(): number {
    return this.#daemon.pid ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close()
    const ended = once(this.#daemon, 'exit')
    this.#daemon.kill('SIGKILL')
    await ended
    await this.server[Symbol.asyncDispose]()
    this.#namespace[Symbol.dispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

function flags(server: ApiServer): readonly string[] {
  return [
    '--proxy-mode=nftables',
    `--master=${server.url('stream')}`,
    `--hostname-override=${nodeName}`,
    `--cluster-cidr=${podRange}`,
    `--console-bind-address=127.0.0.1:${port}`,
    '--debug-socket=none',
    '--oom-score-adj=0',
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0s',
    '--conntrack-tcp-timeout-close-wait=0s',
  ]
}
