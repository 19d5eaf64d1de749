/** The two proxies that are compared. They take the same flags and name their metrics alike. */
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../../cluster/testing/programs.ts'

export interface ProxyProgram {
  readonly name: string
  readonly command: readonly [program: string, ...args: readonly string[]]
}

/** As it is installed: `npm run bench` has built it. */
export const fairlead: ProxyProgram = {
  name: 'Fairlead',
  command: [process.execPath, fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))],
}

/** The executable that `KUBE_PROXY` names, or one that Go builds from the sources of the release. */
export async function findKubeProxy(): Promise<ProxyProgram> {
  const executable = process.env['KUBE_PROXY'] ?? (await buildProgram('kube-proxy'))
  // Its other format is protobuf, which the benchmark's API server does not speak.
  return { name: 'kube-proxy', command: [executable, '--kube-api-content-type=application/json'] }
}
