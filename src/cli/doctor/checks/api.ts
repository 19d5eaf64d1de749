import { check } from '../check.ts'

const everywhere = ['linux', 'win32', 'darwin'] as const

export const api = check({
  name: 'api',
  title: 'the API server: reachable, with our credentials and rights',
  systems: everywhere,
  needs: ['api'],
  concerns: ({ objects }) => objects.length === 0,
  finds: {
    'api-config-unusable': {
      severity: 'error',
      meaning: 'There is no usable kubeconfig, or a file that it names cannot be read.',
      fix: 'Put a kubeconfig where clientConnection.kubeconfig of the file says; without --config give --kubeconfig=PATH (or --master), or objects in files with --objects.',
    },
    'api-name-unresolved': {
      severity: 'error',
      meaning: 'The name of the API server has no address. The proxy cannot use cluster DNS for it.',
      fix: 'Use a name that the DNS server of the node knows, an entry in /etc/hosts, or an address.',
    },
    'api-name-slow': {
      severity: 'warning',
      meaning: 'It takes more than a second to find the address of the API server.',
      fix: 'Look at /etc/resolv.conf: a DNS server that does not answer comes first.',
    },
    'api-unreachable': {
      severity: 'error',
      meaning: 'The API server does not answer at the address of the kubeconfig.',
      fix: 'Check address, port, routes and firewalls: curl -k SERVER/version. It must not be an address that the proxy itself serves.',
    },
    'api-untrusted': {
      severity: 'error',
      meaning: 'The certificate of the API server is not signed by the CA of the kubeconfig, or is for another name.',
      fix: 'Put the right certificate-authority and server name into the kubeconfig.',
    },
    'api-credentials-refused': {
      severity: 'error',
      meaning: 'The API server does not know our credentials: a wrong or expired token or certificate.',
      fix: 'Renew the token or the certificate that the kubeconfig names; check the clock.',
    },
    'api-right-missing': {
      severity: 'error',
      meaning: 'The role lacks a right without which the proxy learns nothing about an object.',
      fix: 'Bind the ClusterRole system:node-proxier to the user or the service account.',
    },
    'api-right-missing-optional': {
      severity: 'warning',
      meaning: 'The role lacks a right that the proxy can do without: ServiceCIDRs, Namespaces, or writing Events.',
      fix: 'Add the right to the role, if you want what it is for.',
    },
    'api-rights-unknown': {
      severity: 'warning',
      meaning: 'The API server did not say which rights we have.',
      fix: 'Allow create for selfsubjectaccessreviews.authorization.k8s.io (ClusterRole system:basic-user).',
    },
  },
  *run(_, { api: facts }, find) {
    if (facts.kind === 'files') return
    if (facts.kind === 'unusable') {
      yield find('api-config-unusable', { what: 'There is no way to the API server.', evidence: facts.reason })
      return
    }
    const { server, dns, failure, rights, rightsProblem } = facts
    if (dns?.problem !== undefined) {
      yield find('api-name-unresolved', { what: `The name ${dns.name} has no address.`, evidence: dns.problem })
      return
    }
    if (dns !== undefined && dns.tookMs > slowDnsMs)
      yield find('api-name-slow', {
        what: `The name ${dns.name} is found slowly.`,
        evidence: `${Math.round(dns.tookMs)} ms for ${dns.addresses.join(', ')}`,
      })
    if (failure !== undefined) {
      const name = failureNames[failure.reason] ?? 'api-unreachable'
      yield find(name, { what: `${sentences[name]} (${server}).`, evidence: failure.message })
    }
    if (rightsProblem !== undefined)
      yield find('api-rights-unknown', { what: 'Our rights are unknown.', evidence: rightsProblem })
    for (const { group, resource, verb, isOptional, isAllowed, reason } of rights) {
      if (isAllowed) continue
      const full = group === '' ? resource : `${resource}.${group}`
      yield find(isOptional ? 'api-right-missing-optional' : 'api-right-missing', {
        what: `We may not ${verb} ${full}.`,
        evidence: `SelfSubjectAccessReview ${verb} ${full}: not allowed${reason === '' ? '' : `, ${reason}`}`,
        fix: `kubectl create clusterrolebinding fairlead --clusterrole=system:node-proxier --serviceaccount=NAMESPACE:NAME; or add ${verb} for ${full} to the role.`,
      })
    }
  },
})

const slowDnsMs = 1_000

const failureNames = {
  unauthorized: 'api-credentials-refused',
  credentials: 'api-credentials-refused',
  untrusted: 'api-untrusted',
} as const as Readonly<Record<string, keyof typeof sentences>>

const sentences = {
  'api-credentials-refused': 'The API server refuses our credentials',
  'api-untrusted': 'The API server cannot be trusted',
  'api-unreachable': 'The API server does not answer',
} as const

export const clock = check({
  name: 'clock',
  title: 'the clock, compared with that of the API server',
  systems: everywhere,
  needs: ['api'],
  concerns: ({ objects }) => objects.length === 0,
  finds: {
    'clock-off': {
      severity: 'warning',
      meaning: 'The clock of this node is more than 30 seconds off: certificates and tokens may be refused.',
      fix: 'Run a time service (chrony, systemd-timesyncd, w32time).',
    },
  },
  *run(_, { api: facts }, find) {
    if (facts.kind !== 'asked' || facts.clock?.serverMs === undefined) return
    const offMs = facts.clock.ownMs - facts.clock.serverMs
    // The header has whole seconds.
    if (Math.abs(offMs) < mostOffMs + 1_000) return
    const word = offMs > 0 ? 'ahead' : 'behind'
    yield find('clock-off', {
      what: `The clock is ${Math.round(Math.abs(offMs) / 1000)} s ${word}.`,
      evidence: `here ${iso(facts.clock.ownMs)}, API server ${iso(facts.clock.serverMs)}`,
    })
  },
})

const mostOffMs = 30_000

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
