import { execFileSync } from 'node:child_process'

/** kubectl with a kubeconfig; throws with what it printed. */
export function kubectlOf(kubeconfig: string): (...args: readonly string[]) => string {
  return (...args) => execFileSync('kubectl', [`--kubeconfig=${kubeconfig}`, ...args], { encoding: 'utf8' })
}
