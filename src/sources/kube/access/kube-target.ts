/** Which API server to talk to, and as whom. Secrets are still where they are kept (data or files). */
export interface KubeTarget {
  readonly cluster: KubeCluster
  readonly user: KubeUser
}

export interface KubeCluster {
  /** May have a path (`https://rancher.example/k8s/clusters/c-1`), without a slash at the end. */
  readonly server: string
  /** By default the roots that Node.js trusts. */
  readonly ca: PemSource | undefined
  readonly isInsecure: boolean
  /** The name to expect in the server's certificate instead of the host of the URL. */
  readonly tlsServerName: string | undefined
}

export interface KubeUser {
  readonly auth: KubeAuth
  readonly clientCertificate: { readonly cert: PemSource; readonly key: PemSource } | undefined
  readonly impersonate: Impersonation | undefined
}

export type KubeAuth =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'token-file'; readonly file: string; readonly fallback: string | undefined }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'exec'; readonly plugin: ExecPluginSpec }

export interface Impersonation {
  readonly user: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
}

/** PEM text, or the file that holds it. */
export type PemSource = { readonly pem: string } | { readonly file: string }

export interface ExecPluginSpec {
  readonly apiVersion: ExecApiVersion
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint: string
  /** The cluster as the plugin shall see it, if it asks for that (`provideClusterInfo`). */
  readonly clusterInfo: Readonly<Record<string, unknown>> | undefined
}

type ExecApiVersion = 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1'

export const anonymous: KubeUser = { auth: { kind: 'none' }, clientCertificate: undefined, impersonate: undefined }

/** As kubectl reads `--server`: without a scheme it is https when there is anything to do with TLS, else http. */
export function normalizeServer(server: string, hasTlsSettings: boolean): string {
  const withScheme = /^https?:\/\//i.test(server) ? server : `${hasTlsSettings ? 'https' : 'http'}://${server}`
  return withScheme.replace(/\/+$/, '')
}
