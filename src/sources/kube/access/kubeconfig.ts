/** Reads a kubeconfig into the one target that its current context names. */
import { dirname, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { KubeError } from '../kube-error.ts'
import { anonymous, normalizeServer } from './kube-target.ts'
import type { ExecPluginSpec, Impersonation, KubeAuth, KubeCluster, KubeTarget, KubeUser } from './kube-target.ts'
import { KubeconfigSection } from './kubeconfig-fields.ts'
import { shortened } from '../../../net/shown-value.ts'

export interface KubeconfigPlace {
  /** For messages, and as the base of relative paths. */
  readonly file: string
  /** `--master`: replaces the server of the kubeconfig; empty for none. */
  readonly master: string
}

/** Throws a `bad-config` error that names the file, the entry and the field. */
export function parseKubeconfig(text: string, place: KubeconfigPlace): KubeTarget {
  const root = new KubeconfigSection(place.file, 'the file', parseYaml(text, place.file))
  const contextName = root.string('current-context')
  if (contextName === undefined) {
    if (place.master !== '') return { cluster: onlyServer(place.master), user: anonymous }
    throw root.problem('has no current-context: choose one with "kubectl config use-context NAME"')
  }
  const context = root.named('contexts', contextName, 'context')
  const cluster = root.named('clusters', context.required('cluster', 'name one of the clusters'), 'cluster')
  const userName = context.string('user')
  return {
    cluster: readCluster(cluster, place.master),
    user: userName === undefined ? anonymous : readUser(root.named('users', userName, 'user'), cluster, place),
  }
}

/** For `--master` without a kubeconfig. */
export function onlyServer(server: string): KubeCluster {
  return { server: normalizeServer(server, false), ca: undefined, isInsecure: false, tlsServerName: undefined }
}

function parseYaml(text: string, file: string): unknown {
  const document = parseDocument(text)
  const [first] = document.errors
  if (first !== undefined)
    throw new KubeError('bad-config', `kubeconfig "${file}" is not valid YAML: ${shortened(first.message)}`)
  return document.toJS()
}

function readCluster(cluster: KubeconfigSection, master: string): KubeCluster {
  if (cluster.has('proxy-url'))
    throw cluster.problem(
      'has a proxy-url, which Fairlead does not support: name a server that can be reached directly',
    )
  const ca = cluster.pem('certificate-authority')
  const isInsecure = cluster.boolean('insecure-skip-tls-verify')
  if (isInsecure && ca !== undefined)
    throw cluster.problem('has both insecure-skip-tls-verify and a certificate-authority: remove one of them')
  const server = master === '' ? cluster.required('server', 'write the URL of the API server, or use --master') : master
  return {
    server: normalizeServer(server, isInsecure || ca !== undefined),
    ca,
    isInsecure,
    tlsServerName: cluster.string('tls-server-name'),
  }
}

function readUser(user: KubeconfigSection, cluster: KubeconfigSection, place: KubeconfigPlace): KubeUser {
  const cert = user.pem('client-certificate')
  const key = user.pem('client-key')
  if ((cert === undefined) !== (key === undefined))
    throw user.problem('has only one of client-certificate and client-key: give both')
  return {
    auth: readAuth(user, cluster, place),
    clientCertificate: cert === undefined || key === undefined ? undefined : { cert, key },
    impersonate: readImpersonation(user),
  }
}

function readAuth(user: KubeconfigSection, cluster: KubeconfigSection, place: KubeconfigPlace): KubeAuth {
  if (user.has('auth-provider'))
    throw user.problem('uses an auth-provider, which Kubernetes removed in 1.26: use an exec plugin instead')
  const token = user.string('token')
  const tokenFile = user.path('tokenFile')
  const username = user.string('username')
  const hasToken = token !== undefined || tokenFile !== undefined
  if (hasToken && username !== undefined) throw user.problem('has both a token and a username: keep one of them')
  if (tokenFile !== undefined) return { kind: 'token-file', file: tokenFile, fallback: token }
  if (token !== undefined) return { kind: 'token', token }
  if (username !== undefined) return { kind: 'basic', username, password: user.string('password') ?? '' }
  if (user.has('exec')) return { kind: 'exec', plugin: readPlugin(user.section('exec'), cluster, place) }
  return { kind: 'none' }
}

function readImpersonation(user: KubeconfigSection): Impersonation | undefined {
  if (user.has('as-user-extra')) throw user.problem('has as-user-extra, which Fairlead does not support: remove it')
  const name = user.string('as')
  if (name === undefined) return undefined
  return { user: name, uid: user.string('as-uid'), groups: user.strings('as-groups') }
}

function readPlugin(exec: KubeconfigSection, cluster: KubeconfigSection, place: KubeconfigPlace): ExecPluginSpec {
  const apiVersion = exec.required('apiVersion', 'write client.authentication.k8s.io/v1')
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1')
    throw exec.problem(`has apiVersion ${apiVersion}: client.authentication.k8s.io/v1 and v1beta1 are supported`)
  const mode = exec.string('interactiveMode') ?? (apiVersion.endsWith('v1') ? undefined : 'IfAvailable')
  if (mode === undefined) throw exec.problem('has no interactiveMode: v1 plugins must set it; write Never')
  if (mode === 'Always')
    throw exec.problem('has interactiveMode Always, but a daemon has no terminal: use Never or IfAvailable')
  if (mode !== 'Never' && mode !== 'IfAvailable')
    throw exec.problem(`has interactiveMode ${mode}: write Never or IfAvailable`)
  const env = exec
    .sections('env')
    .map((entry) => [entry.required('name', 'name the variable'), entry.string('value') ?? ''])
  return {
    apiVersion,
    command: commandPath(exec.required('command', 'name the program that prints the credential'), place.file),
    args: exec.strings('args'),
    env: Object.fromEntries(env) as Record<string, string>,
    installHint: exec.string('installHint') ?? '',
    clusterInfo: exec.boolean('provideClusterInfo') ? clusterInfo(cluster, place.master) : undefined,
  }
}

/** A bare name is looked up in PATH; anything with a slash starts from the kubeconfig's folder. */
function commandPath(command: string, kubeconfig: string): string {
  return /[/\\]/.test(command) ? resolve(dirname(kubeconfig), command) : command
}

function clusterInfo(cluster: KubeconfigSection, master: string): Readonly<Record<string, unknown>> {
  return {
    server: master === '' ? cluster.string('server') : master,
    'tls-server-name': cluster.string('tls-server-name'),
    'insecure-skip-tls-verify': cluster.boolean('insecure-skip-tls-verify') || undefined,
    'certificate-authority-data': cluster.string('certificate-authority-data'),
  }
}
