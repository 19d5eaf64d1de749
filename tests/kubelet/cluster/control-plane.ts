/** etcd, API server, controller manager and scheduler, as processes beside the bridge. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CertificateAuthority, createKey } from '../../cluster/testing/certificates.ts'
import { Etcd } from '../../cluster/testing/etcd.ts'
import { renderKubeconfig } from '../../cluster/testing/kubeconfig.ts'
import { buildProgram } from '../../cluster/testing/programs.ts'
import { ServerProcess } from '../../cluster/testing/server-process.ts'
import { buildGoProgram } from '../programs.ts'
import { apiServerPort, hub, kubernetesServiceAddress, podCidrs, serviceCidrs } from './addresses.ts'
import type { Kubectl } from './kubectl.ts'
import { kubectlWith } from './kubectl.ts'
import { stateFolder } from './hub.ts'

export interface ControlPlane {
  readonly url: string
  /** Of an administrator. */
  readonly kubeconfig: string
  readonly caFile: string
  readonly kubectl: Kubectl
}

export async function startControlPlane(logFolder: string): Promise<ControlPlane> {
  const folder = stateFolder
  const authority = await CertificateAuthority.create(folder)
  const url = `https://${hub.ipv4}:${apiServerPort}`
  const kubeconfig = join(folder, 'admin.kubeconfig')
  await writeFile(
    kubeconfig,
    renderKubeconfig(url, authority.certFile, { certificate: await authority.client('admin', 'system:masters') }),
  )
  const kubectl = kubectlWith(kubeconfig)
  const serviceAccountKey = join(folder, 'service-account.key')
  await createKey(serviceAccountKey)
  const etcd = await Etcd.start(folder)

  const apiServer = new ServerProcess(
    'kube-apiserver',
    await buildProgram('kube-apiserver'),
    await apiServerFlags({ authority, etcdUrl: etcd.url, serviceAccountKey }),
    join(logFolder, 'kube-apiserver.log'),
  )
  await apiServer.waitUntil('ready', async () => (await kubectl('get', '--raw', '/readyz')) === 'ok')

  const manager = new ServerProcess(
    'kube-controller-manager',
    await buildGoProgram('kube-controller-manager'),
    flags({
      kubeconfig,
      'leader-elect': false,
      'root-ca-file': authority.certFile,
      'service-account-private-key-file': serviceAccountKey,
      'cluster-cidr': podCidrs.join(','),
      'service-cluster-ip-range': serviceCidrs.join(','),
      // The nodes are made with their ranges, so that static routes can lead there.
      'allocate-node-cidrs': false,
      // A kubelet that has to wait for a busy core is not gone.
      'node-monitor-grace-period': '5m',
    }),
    join(logFolder, 'kube-controller-manager.log'),
  )
  const scheduler = new ServerProcess(
    'kube-scheduler',
    await buildGoProgram('kube-scheduler'),
    flags({ kubeconfig, 'leader-elect': false }),
    join(logFolder, 'kube-scheduler.log'),
  )
  // Pods cannot be made before it has run once.
  await manager.waitUntil('at work', async () => (await kubectl('get', 'serviceaccount', 'default')) !== '')
  if (!scheduler.isRunning) throw new Error(`kube-scheduler has ended: see ${logFolder}`)
  return { url, kubeconfig, caFile: authority.certFile, kubectl }
}

interface ApiServerParts {
  readonly authority: CertificateAuthority
  readonly etcdUrl: string
  readonly serviceAccountKey: string
}

async function apiServerFlags({ authority, etcdUrl, serviceAccountKey }: ApiServerParts): Promise<readonly string[]> {
  const server = await authority.server('apiserver', [
    `IP:${hub.ipv4}`,
    `IP:${kubernetesServiceAddress}`,
    'DNS:kubernetes.default.svc',
    'DNS:kubernetes.default.svc.cluster.local',
  ])
  const toKubelets = await authority.client('apiserver-to-kubelets', 'system:masters')
  return flags({
    'etcd-servers': etcdUrl,
    'bind-address': '0.0.0.0',
    'advertise-address': hub.ipv4,
    'secure-port': apiServerPort,
    'tls-cert-file': server.certFile,
    'tls-private-key-file': server.keyFile,
    'client-ca-file': authority.certFile,
    'kubelet-client-certificate': toKubelets.certFile,
    'kubelet-client-key': toKubelets.keyFile,
    'kubelet-preferred-address-types': 'InternalIP',
    'authorization-mode': 'Node,RBAC',
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': serviceAccountKey,
    'service-account-signing-key-file': serviceAccountKey,
    'service-cluster-ip-range': serviceCidrs.join(','),
    'allow-privileged': true,
  })
}

function flags(valuesByName: Readonly<Record<string, string | number | boolean>>): readonly string[] {
  return Object.entries(valuesByName).map(([name, value]) => `--${name}=${value}`)
}
