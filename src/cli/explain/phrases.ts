/** Explanations in plain words, piece by piece. */
import type { ClientSees, Explanation, Source } from '../../core/explain/explanation.ts'
import { entranceWords } from '../../core/explain/entrance-words.ts'
import type { RefusedService } from '../../core/routing/address-claims.ts'
import { claimWords, placeText, whyText } from '../../core/routing/claim-texts.ts'

/** `10.96.0.20:80/TCP`, `node port 30080/TCP`, `10.96.0.20/ICMP`. */
export function destinationText({ ip, port, lastPort, protocol }: Explanation['destination']): string {
  if (ip === undefined) return `node port ${port}/${protocol}`
  return protocol === 'ICMP' ? `${ip}/ICMP` : `${placeText({ ip, port, lastPort })}/${protocol}`
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
  return `Service ${service} names it as ${claimWords[claim.kind]} and does not get it: ${whyText(claim)}.`
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
