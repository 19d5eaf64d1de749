import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKey } from './certificates.ts'
import type { CertificateAuthority } from './certificates.ts'

export interface ApiServerOptions {
  readonly folder: string
  readonly authority: CertificateAuthority
  readonly etcdUrl: string
  readonly port: number
  readonly tokenFile: string
  readonly auditLog: string
  /** Such as `{ WatchList: false }`. */
  readonly featureGates: Readonly<Record<string, boolean>>
}

const recordEveryRequest = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
}

/** The command line of a real API server for tests; makes the keys and certificates that it names. */
export async function apiServerArguments(options: ApiServerOptions): Promise<readonly string[]> {
  const server = await options.authority.server('apiserver')
  const serviceAccountKey = join(options.folder, 'service-account.key')
  await createKey(serviceAccountKey)
  const auditPolicy = join(options.folder, 'audit-policy.json')
  await writeFile(auditPolicy, JSON.stringify(recordEveryRequest))
  return Object.entries({
    'etcd-servers': options.etcdUrl,
    'bind-address': '127.0.0.1',
    'secure-port': options.port,
    'tls-cert-file': server.certFile,
    'tls-private-key-file': server.keyFile,
    'client-ca-file': options.authority.certFile,
    'token-auth-file': options.tokenFile,
    'authorization-mode': 'RBAC',
    'service-account-issuer': 'https://fairlead.test',
    'service-account-key-file': serviceAccountKey,
    'service-account-signing-key-file': serviceAccountKey,
    'service-cluster-ip-range': '10.96.0.0/16,fd00:10:96::/112',
    // As in every cluster whose kube-proxy is a pod.
    'allow-privileged': true,
    // No controller is there to make service accounts, or to take away the taint of a new Node.
    'disable-admission-plugins': 'ServiceAccount,TaintNodesByCondition',
    // Endpoints of the API server itself may not be loopback addresses, and the tests need none.
    'endpoint-reconciler-type': 'none',
    'advertise-address': '192.0.2.1',
    'audit-policy-file': auditPolicy,
    'audit-log-path': options.auditLog,
    // Without it, a server that is told to end waits a minute for the watches of its clients.
    'shutdown-watch-termination-grace-period': '1s',
    'feature-gates': Object.entries(options.featureGates)
      .map(([name, isOn]) => `${name}=${isOn}`)
      .join(','),
  }).map(([flag, value]) => `--${flag}=${value}`)
}
