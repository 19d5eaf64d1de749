/** CoreDNS in pods of the cluster, behind the Service that every pod asks. */
import { corednsImage } from '../images/images.ts'
import { dnsServiceAddress } from './addresses.ts'

const labels = { 'k8s-app': 'kube-dns' }
const here = { name: 'coredns', namespace: 'kube-system' }

const corefile = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 30
  }
  cache 30
  loadbalance
}
`

export const clusterDns: readonly object[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: here },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'coredns' },
    rules: [
      { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'coredns' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'coredns' },
    subjects: [{ kind: 'ServiceAccount', ...here }],
  },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: here, data: { Corefile: corefile } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: 'kube-system', labels },
    spec: {
      clusterIP: dnsServiceAddress,
      selector: labels,
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...here, labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 'coredns',
          // Not that of the cluster: it would ask itself.
          dnsPolicy: 'Default',
          priorityClassName: 'system-cluster-critical',
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [
            {
              name: 'coredns',
              image: corednsImage,
              imagePullPolicy: 'Never',
              args: ['-conf', '/etc/coredns/Corefile'],
              readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
              volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
            },
          ],
          volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
        },
      },
    },
  },
]
