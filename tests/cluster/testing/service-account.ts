import type { ControlPlane } from './control-plane.ts'

const accounts = '/api/v1/namespaces/default/serviceaccounts'

/** A real token of a new service account without rights, as the kubelet gets it for a pod. */
export async function powerlessToken(cluster: ControlPlane, name: string): Promise<string> {
  await cluster.client.expect(201, 'POST', accounts, { metadata: { name } })
  const answer = await cluster.client.expect(201, 'POST', `${accounts}/${name}/token`, {
    spec: { expirationSeconds: 3600 },
  })
  return (answer['status'] as { token: string }).token
}

/** Gives a service account the role that Kubernetes itself keeps for kube-proxy. */
export async function grantProxyRights(cluster: ControlPlane, name: string): Promise<void> {
  await cluster.client.expect(201, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-proxier' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
  })
}

/** A token with exactly the rights of kube-proxy. */
export async function proxyToken(cluster: ControlPlane, name: string): Promise<string> {
  await grantProxyRights(cluster, name)
  return powerlessToken(cluster, name)
}
