import { stringify } from 'yaml'
import type { KeyPair } from './certificates.ts'

/** Who a kubeconfig says its reader is. */
export type KubeconfigUser =
  | { readonly token: string }
  | { readonly tokenFile: string }
  | { readonly certificate: KeyPair }
  /** A credential plugin: a command that prints an ExecCredential. */
  | { readonly command: string; readonly args: readonly string[] }

export function renderKubeconfig(url: string, caFile: string, user: KubeconfigUser): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: 'test', user: renderUser(user) }],
  })
}

function renderUser(user: KubeconfigUser): object {
  if ('token' in user) return { token: user.token }
  if ('tokenFile' in user) return { tokenFile: user.tokenFile }
  if ('certificate' in user) {
    return { 'client-certificate': user.certificate.certFile, 'client-key': user.certificate.keyFile }
  }
  const { command, args } = user
  return { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, args, interactiveMode: 'Never' } }
}
