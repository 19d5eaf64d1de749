import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { Logger } from '../../../core/logger.ts'
import type { FindFile } from '../../../host/mounted-file.ts'
import { FileText } from './file-text.ts'
import { KubeError } from '../kube-error.ts'
import { anonymous } from './kube-target.ts'
import type { KubeTarget } from './kube-target.ts'
import { onlyServer, parseKubeconfig } from './kubeconfig.ts'

export interface TargetFinderOptions {
  readonly kubeconfig?: string
  readonly master?: string
  readonly serviceAccountDir?: string
  readonly env: NodeJS.ProcessEnv
  readonly findFile: FindFile
  readonly log: Logger
}

/** The kubeconfig if there is one, else `--master` alone, else the service account of the pod we run in. */
export function targetFinder(options: TargetFinderOptions): () => Promise<KubeTarget> {
  const { kubeconfig = '', master = '', env } = options
  if (kubeconfig !== '') return kubeconfigTarget(kubeconfig, master, options)
  if (master !== '') return constantTarget({ cluster: onlyServer(master), user: anonymous })
  return constantTarget(
    inClusterTarget(env, options.serviceAccountDir ?? '/var/run/secrets/kubernetes.io/serviceaccount'),
  )
}

function constantTarget(target: KubeTarget): () => Promise<KubeTarget> {
  return () => Promise.resolve(target)
}

/** Follows edits of the kubeconfig (a new server, another user); a broken edit leaves the last good one in use. */
function kubeconfigTarget(
  path: string,
  master: string,
  options: Pick<TargetFinderOptions, 'findFile' | 'log'>,
): () => Promise<KubeTarget> {
  const { log } = options
  const file = new FileText(path, 'kubeconfig', options)
  let read: { readonly text: string; readonly target: KubeTarget } | undefined
  return async () => {
    const text = await file.read()
    if (read?.text === text) return read.target
    try {
      read = { text, target: parseKubeconfig(text, { file: path, master }) }
    } catch (error) {
      if (read === undefined) throw error
      log.warn('kubeconfig edit ignored, the last good one stays in use', { problem: (error as Error).message })
      read = { text, target: read.target }
    }
    return read.target
  }
}

function inClusterTarget(env: NodeJS.ProcessEnv, dir: string): KubeTarget {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? ''
  const port = env['KUBERNETES_SERVICE_PORT'] ?? ''
  if (host === '' || port === '')
    throw new KubeError(
      'bad-config',
      'no API server is configured: give --kubeconfig or --master, or run as a pod' +
        ' (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)',
    )
  return {
    cluster: {
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      ca: { file: join(dir, 'ca.crt') },
      isInsecure: false,
      tlsServerName: undefined,
    },
    user: { ...anonymous, auth: { kind: 'token-file', file: join(dir, 'token'), fallback: undefined } },
  }
}
