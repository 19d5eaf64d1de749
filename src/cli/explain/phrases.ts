/** Explanations in plain words, piece by piece. */
import type { ClientSees, Explanation, Source, WhyNot } from '../../core/explain/explanation.ts'
import { entranceWords } from '../../core/explain/entrance-words.ts'
import type { RefusedService } from '../../core/routing/address-claims.ts'
import { claimWords, takenText } from '../../core/routing/service-notices.ts'
import { hostPort } from '../../net/ip.ts'

/** `10.96.0.20:80/TCP`, `node port 30080/TCP`, `10.96.0.20/ICMP`. */
export function destinationText({ ip, port, protocol }: Explanation['destination']): string {
  if (ip === undefined) return `node port ${port}/${protocol}`
  return protocol === 'ICMP' ? `${ip}/ICMP` : `${hostPort(ip, port)}/${protocol}`
}

export function sourceText({ place, ip }: Source): string {
  return ip ?? (place === 'outside' ? 'outside' : `a ${place}`)
}

function serviceText({ namespace, name, portName }: NonNullable<Explanation['service']>): string {
  return `${namespace}/${name}${portName === '' ? '' : `, port ${portName}`}`
}

const placeWords: Readonly<Record<Source['place'], string>> = {
  'pod on this node': 'a pod on this node',
  'this node': 'this node itself',
  'pod elsewhere': 'a pod on another node',
  outside: 'outside',
}

export function clientSentence({ place, ip, isInside, why }: Source): string {
  const who = ip === undefined ? 'The client' : `The client ${ip}`
  const treated =
    isInside && place === 'pod elsewhere'
      ? ' It is treated as a pod of this node.'
      : !isInside && place === 'pod on this node'
        ? ' It is treated as a client outside.'
        : ''
  return `${who} is ${placeWords[place]}: ${why}.${treated}`
}

export function entranceSentence({ destination, entrance, service }: Explanation): string {
  if (entrance === undefined || service === undefined) return `No Service has ${destinationText(destination)}.`
  const what = entranceWords[entrance.kind]
  if (entrance.kind !== 'node-port')
    return `${destinationText(destination)} is the ${what} of Service ${serviceText(service)}.`
  const where = entrance.ip === undefined ? '' : ` on ${entrance.ip}`
  return `${entrance.port}/${service.protocol}${where} is the node port of Service ${serviceText(service)}.`
}

export function refusedSentence({ service, claim }: RefusedService): string {
  const because =
    claim.takenAs === 'apiServer'
      ? 'Fairlead reaches the API server there'
      : `it is ${takenText(claim.takenAs, claim.owner)}`
  return `Service ${service} names it as ${claimWords[claim.kind]} and does not get it: ${because}.`
}

/** What a client notices, as the end of a sentence. */
export function seenText(seen: ClientSees, protocol: string): string {
  const isTcp = protocol === 'TCP'
  switch (seen) {
    case 'an answer':
      return 'the client gets an answer'
    case 'refused at once':
      return isTcp
        ? 'the client is refused at once ("connection refused")'
        : 'the client gets an ICMP message at once that the port is unreachable'
    case 'timeout':
      return 'the client hears nothing and gives up after a while'
    case 'accepted, then reset':
    case 'accepted, then closed':
      return isTcp ? `the connection is ${seen}` : 'what the client sends is dropped, and it gives up after a while'
    case 'whatever is there':
      return 'the packet goes where it would go without a proxy'
    default:
      return seen satisfies never
  }
}

/** The verdict in a few words. */
export function verdictText({ verdict, answerers, sourceRanges }: Explanation): string {
  switch (verdict.kind) {
    case 'forward': {
      const many =
        answerers.length === 1 ? 'answered by 1 endpoint' : `answered by one of ${answerers.length} endpoints`
      return sourceRanges?.isAllowed === 'depends' ? `${many}, if the client may come` : many
    }
    case 'reject':
      return `refused: ${becauseWords[verdict.because]}`
    case 'drop':
      return `dropped: ${becauseWords[verdict.because]}`
    case 'untouched':
      return `not handled: ${becauseWords[verdict.because]}`
    default:
      return verdict satisfies never
  }
}

type Because = Exclude<Explanation['verdict'], { kind: 'forward' }>['because']

export const becauseWords: Readonly<Record<Because, string>> = {
  'no endpoint': 'no endpoint can serve',
  'no such port': 'the Service has no such port',
  'closed meanwhile': 'only endpoints that are ending are left',
  'no endpoint here': 'endpoints of other nodes could serve, but none of this node',
  'source not allowed': 'the client is not in loadBalancerSourceRanges',
  'no Service in the range': 'no Service has this address',
  'address of nobody': 'no Service has it',
  'address of a pod': 'it is the address of a pod',
  'address of this node': 'it is an address of this node, without such a node port',
  'not open here': 'node ports are not open there',
  'not served': 'it is not served',
  'not for this source': 'not for what this node sends',
  'protocol not supported': 'the mode does not support the protocol',
}

export const whyNotWords: Readonly<Record<WhyNot, string>> = {
  'not ready': 'not ready',
  terminating: 'terminating, and others are there',
  'no longer serving': 'terminating, and no longer serving',
  'on another node': 'on another node, and the policy is Local',
  'for another zone': 'meant for another zone',
  'for another node': 'meant for another node',
  'no such port': 'it has no such port',
  'other family': 'of the other IP family',
  'loopback address': 'a loopback address',
}
