/** Claims to addresses in plain words. */
import { guardAnnotations } from '../../api/parse-namespace.ts'
import type { ClaimKind, RefusedClaim, TakenClaim } from './address-claims.ts'
import type { Objection } from './address-guard.ts'
import { hostPort } from '../../net/ip.ts'

export const claimWords: Readonly<Record<ClaimKind, string>> = {
  clusterIP: 'cluster IP',
  nodePort: 'node port',
  loadBalancerIP: 'load-balancer IP',
  externalIP: 'external IP',
}

export function isTaken(claim: RefusedClaim): claim is TakenClaim {
  return claim.takenAs === 'apiServer' || claim.takenAs in claimWords
}

interface Place {
  readonly ip?: string
  readonly port: number
  readonly lastPort?: number | undefined
}

/** `203.0.113.9:80`, `203.0.113.9:30000-30100`, or the number of a node port. */
export function placeText({ ip, port, lastPort }: Place): string {
  const range = lastPort === undefined ? '' : `-${lastPort}`
  return `${ip === undefined ? port : hostPort(ip, port)}${range}`
}

/** Why it is not the Service's: `it is an external IP of shop/web`. */
export function whyText(claim: Pick<TakenClaim, 'takenAs' | 'owner'> | Objection): string {
  switch (claim.takenAs) {
    case 'apiServer':
      return 'Fairlead reaches the API server there'
    case 'notAllowed':
      return claim.by === 'flags'
        ? 'no range of --external-ip-cidrs has it'
        : `its namespace does not allow it (${guardAnnotations.externalIPCidrs})`
    case 'node':
      return `it is an address of node ${claim.node}`
    case 'endpoint':
      return `a pod of ${claim.owner} has it`
    case 'otherNamespace':
      return `${claim.owner} has it, in another namespace`
    case 'podRange':
      return `it is in the range of pods ${claim.range}`
    case 'serviceRange':
      return `it is in the range of Services ${claim.range}`
    case 'clusterIP':
    case 'nodePort':
    case 'loadBalancerIP':
    case 'externalIP':
      return `it is ${claim.takenAs === 'externalIP' ? 'an' : 'a'} ${claimWords[claim.takenAs]} of ${claim.owner}`
    default:
      return claim satisfies never
  }
}
