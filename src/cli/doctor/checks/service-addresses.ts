import type { NoticeReason } from '../../../core/routing/service-notices.ts'
import { check } from '../check.ts'

export const serviceAddresses = check({
  name: 'service-addresses',
  title: 'addresses that Services claim',
  systems: ['linux', 'win32', 'darwin'],
  needs: ['cluster'],
  isBeforeStart: false,
  finds: {
    'address-in-use': {
      severity: 'warning',
      meaning: 'A Service names an address or node port that another Service has: the other one keeps it.',
      fix: 'Give one of the two another address.',
    },
    'api-server-address': {
      severity: 'warning',
      meaning: 'A Service names the address at which Fairlead reaches the API server. It is not served.',
      fix: 'Remove the address from the Service, and find out who wrote it (CVE-2020-8554).',
    },
    'external-ip-not-allowed': {
      severity: 'warning',
      meaning: 'An external IP is in none of the ranges of --external-ip-cidrs. It is not served.',
      fix: 'Remove the address from the Service, or add its range to --external-ip-cidrs.',
    },
    'guarded-address': {
      severity: 'warning',
      meaning:
        'An external or load-balancer IP is the address of a node or pod, in a range of the cluster, or of another namespace.',
      fix: 'Remove the address, and find out who wrote it (CVE-2020-8554). --external-ip-guard=deny refuses such addresses.',
    },
    'loopback-address': {
      severity: 'warning',
      meaning: 'A Service or an endpoint has a loopback address. It is not served.',
      fix: 'Use an address that other machines can reach.',
    },
    'node-address': {
      severity: 'note',
      meaning: 'An external or load-balancer IP is an address of this node: what the node runs there is out of reach.',
      fix: 'Nothing, if it is meant so.',
    },
    'source-ranges-of-other-family': {
      severity: 'warning',
      meaning:
        'loadBalancerSourceRanges has ranges of one IP family only, so the other one is open (or closed) to all.',
      fix: 'Add a range of the other family, or start with --strict-source-ranges.',
    },
    'unreadable-source-range': {
      severity: 'warning',
      meaning: 'A range in loadBalancerSourceRanges cannot be read, and allows nobody.',
      fix: 'Write it as a CIDR.',
    },
    'unreachable-endpoint': {
      severity: 'warning',
      meaning: 'A Service wants its endpoints checked (fairlead.dev/health-check), and this node cannot reach one.',
      fix: 'Find out why: the pod, a network policy, or the network between this node and that of the pod.',
    },
    'unsupported-annotation': {
      severity: 'warning',
      meaning: 'A Service asks by annotation for what this mode cannot do. It works as without the annotation.',
      fix: 'Remove the annotation, or run a mode that can do it (docs/traffic.md).',
    },
    'object-ignored': {
      severity: 'warning',
      meaning: 'An object, or a part of it, has a mistake and is ignored.',
      fix: 'Mend the field that the evidence names.',
    },
  },
  *run(_, { cluster: { notices, problems } }, find) {
    const names = {
      AddressInUse: 'address-in-use',
      ApiServerAddress: 'api-server-address',
      ExternalIPNotAllowed: 'external-ip-not-allowed',
      GuardedAddress: 'guarded-address',
      LoopbackAddress: 'loopback-address',
      NodeAddress: 'node-address',
      SourceRangesOfOtherFamily: 'source-ranges-of-other-family',
      UnreadableSourceRange: 'unreadable-source-range',
      UnreachableEndpoint: 'unreachable-endpoint',
      UnsupportedAnnotation: 'unsupported-annotation',
    } as const satisfies Readonly<Record<NoticeReason, string>>
    for (const { reason, service, text } of notices.slice(0, mostShown))
      yield find(names[reason], { what: `Service ${service} does not get all it asks for.`, evidence: text })
    const [next] = notices.slice(mostShown)
    if (next !== undefined)
      yield find(names[next.reason], {
        what: `There are ${notices.length - mostShown} more such Services.`,
        evidence: `${next.service}: ${next.text}, …`,
      })
    for (const { object, text } of problems.slice(0, mostShown))
      yield find('object-ignored', { what: `${object} is ignored, in whole or in part.`, evidence: text })
  },
})

const mostShown = 20
