import type { PodSpec } from '../../testing/manifests.ts'
import type { ControlPlane } from './control-plane.ts'

const namespace = '/api/v1/namespaces/kube-system'

/** The token that the kubelet would give a pod of this name: of its service account, and bound to the pod. */
export async function boundToken({ client }: ControlPlane, name: string, spec: PodSpec): Promise<string> {
  const pod = await client.expect(201, 'POST', `${namespace}/pods`, { metadata: { name }, spec })
  const { uid } = pod['metadata'] as { readonly uid: string }
  const path = `${namespace}/serviceaccounts/${spec.serviceAccountName}/token`
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid }
  const made = await client.expect(201, 'POST', path, { spec: { expirationSeconds: 3600, boundObjectRef } })
  return (made['status'] as { readonly token: string }).token
}
