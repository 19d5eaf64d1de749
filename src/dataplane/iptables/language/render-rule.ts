/** The one writer of rules: from data to a line that iptables-restore understands. */
import { refuseControlCharacter } from '../refuse-control-characters.ts'
import { clientHashProgram } from './client-hash.ts'
import { probabilityText } from './probability-text.ts'
import type { Match, Rule, Target } from './rule.ts'

/** Without the `-A CHAIN` in front. */
export function renderRule(rule: Rule): string {
  const pieces: string[] = []
  renderInto(pieces, rule)
  // Joining makes one plain string; adding the pieces up would leave a tree of them in memory for as long as the rule.
  const text = pieces.join('')
  refuseControlCharacter(text)
  return text
}

/** For those who join many rules at once: a large cluster has more than a hundred thousand. */
export function renderInto(pieces: string[], { matches, target }: Rule): void {
  let space = ''
  for (const match of matches) {
    pieces.push(space, renderMatch(match))
    space = ' '
  }
  if (target !== undefined) pieces.push(space, renderTarget(target))
}

function renderMatch(match: Match): string {
  switch (match.kind) {
    case 'comment':
      return `-m comment --comment ${quoted(match.text)}`
    case 'traffic':
      return renderTraffic(match)
    case 'protocol':
      return `-p ${match.protocol.toLowerCase()}`
    case 'source':
      return `${not(match)}-s ${match.value}`
    case 'destination':
      return `${not(match)}-d ${match.value}`
    case 'in-interface':
      return `${not(match)}-i ${match.value}`
    case 'local-address':
      return `-m addrtype ${not(match)}--${match.end === 'source' ? 'src' : 'dst'}-type LOCAL`
    case 'ip-set':
      return `-m set --match-set ${match.name} ${match.ends}`
    case 'virtual-server':
      return `-m ipvs --vaddr ${match.ip} --vproto ${match.protocol.toLowerCase()} --vport ${match.port}`
    case 'not-bridged':
      return '-m physdev ! --physdev-is-in'
    case 'connection-state':
      return `-m conntrack ${not(match)}--ctstate ${match.states.join(',')}`
    case 'new-connection':
      return '-m state --state NEW'
    case 'transparent-socket':
      return '-m socket --transparent'
    case 'mark':
      return `-m mark ${not(match)}--mark ${match.mark}/${match.mark}`
    case 'counter':
      return `-m nfacct --nfacct-name ${match.name}`
    case 'chance':
      return `-m statistic --mode random --probability ${probabilityText(match.oneIn)}`
    case 'client-share':
      return `-m bpf --bytecode "${clientHashProgram(match)}"`
    case 'seen':
      return `-m recent --name ${match.list} --rcheck --seconds ${match.seconds} --reap`
    case 'remember':
      return `-m recent --name ${match.list} --set`
    default:
      return match satisfies never
  }
}

const protocolMatch = { TCP: '-m tcp -p tcp', UDP: '-m udp -p udp', SCTP: '-m sctp -p sctp' } as const

function renderTraffic(match: Extract<Match, { kind: 'traffic' }>): string {
  const destination = match.destination === undefined ? '' : ` -d ${match.destination}`
  const { destinationPort: port, lastDestinationPort: last = port } = match
  const ports = port === undefined ? '' : ` --dport ${last === port ? port : `${port}:${last}`}`
  return protocolMatch[match.protocol] + destination + ports
}

function renderTarget(target: Target): string {
  switch (target.kind) {
    case 'jump':
      return `-j ${target.chain}`
    case 'accept':
      return '-j ACCEPT'
    case 'drop':
      return '-j DROP'
    case 'reject':
      return '-j REJECT'
    case 'return':
      return '-j RETURN'
    case 'dnat':
      return `-j DNAT --to-destination ${target.address}`
    case 'redirect':
      return `-j REDIRECT --to-ports ${target.port}`
    case 'masquerade':
      return target.isRandomFully ? '-j MASQUERADE --random-fully' : '-j MASQUERADE'
    case 'set-mark':
      return `-j MARK --or-mark ${target.mark}`
    case 'clear-mark':
      return `-j MARK --xor-mark ${target.mark}`
    default:
      return target satisfies never
  }
}

function not({ isNot = false }: { readonly isNot?: boolean }): string {
  return isNot ? '! ' : ''
}

/** Names of objects cannot hold a quote: the parser at the border refuses such objects. */
function quoted(text: string): string {
  return text.includes(' ') ? `"${text}"` : text
}
