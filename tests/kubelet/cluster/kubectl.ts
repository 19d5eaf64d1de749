import { run } from '../run.ts'

export interface Kubectl {
  (...args: readonly string[]): Promise<string>
  /** Makes these objects, or changes them to this. */
  apply(...objects: readonly object[]): Promise<void>
}

export function kubectlWith(kubeconfig: string): Kubectl {
  // A discovery cache in the home folder would be that of another cluster at the same address.
  const always = [`--kubeconfig=${kubeconfig}`, '--cache-dir=/mnt/kubectl-cache']
  const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', [...always, ...args])
  return Object.assign(kubectl, {
    async apply(...objects: readonly object[]): Promise<void> {
      const list = { apiVersion: 'v1', kind: 'List', items: objects }
      await run('kubectl', [...always, 'apply', '--filename=-'], { input: JSON.stringify(list) })
    },
  })
}
