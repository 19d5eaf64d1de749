import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { chartFolder } from '../../../tools/deploy/places.ts'
import { buildProgram } from './programs.ts'

interface HelmAnswer {
  readonly ok: boolean
  readonly output: string
}

export type Helm = (...args: readonly string[]) => Promise<HelmAnswer>

/** The real Helm; it says yes or no, and what it printed. */
export async function helmOf(kubeconfig: string, home: string): Promise<Helm> {
  const helm = await buildProgram('helm')
  // Nothing of the user who runs the tests: no plugins, no repositories.
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: home, HELM_CONFIG_HOME: home, HELM_CACHE_HOME: home }
  return async (...args) => {
    try {
      const { stdout, stderr } = await promisify(execFile)(helm, args, { env, maxBuffer: 16 << 20 })
      return { ok: true, output: `${stdout}${stderr}` }
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
      return { ok: false, output: `${stdout}${stderr}` }
    }
  }
}

/** The words of a command about the chart, with values such as `mode=iptables`. */
export function withChart(values: readonly string[]): readonly string[] {
  return [chartFolder, '--namespace=kube-system', ...values.flatMap((value) => ['--set', value])]
}
