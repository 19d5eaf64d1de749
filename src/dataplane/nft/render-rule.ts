/** A rule in the words of nft. */
import type { Family } from '../../net/ip.ts'
import { commentText } from './comment-text.ts'
import { hashSeed } from './rule.ts'
import type { DnatByMap, Field, Rule, Statement } from './rule.ts'

export function renderRule({ statements, comment }: Rule, family: Family): string {
  const words = statements.map((statement) => renderStatement(statement, family))
  if (comment !== undefined) words.push(`comment "${commentText(comment)}"`)
  return words.join(' ')
}

function renderStatement(statement: Statement, family: Family): string {
  const ip = family === 'ipv4' ? 'ip' : 'ip6'
  switch (statement.kind) {
    case 'new connection':
      return 'ct state new'
    case 'translated':
      return 'ct status dnat'
    case 'in set':
      return `${renderFields(statement.fields, ip)} ${not(statement)}@${statement.set}`
    case 'source':
      return `${ip} saddr ${not(statement)}${statement.cidr}`
    case 'destination':
      return `${ip} daddr ${not(statement)}${statement.cidr}`
    case 'destination is not loopback':
      return family === 'ipv4' ? 'ip daddr != 127.0.0.0/8' : 'ip6 daddr != ::1'
    case 'in interface':
      return `iifname ${not(statement)}"${statement.name}"`
    case 'is local':
      return `fib ${statement.end === 'source' ? 'saddr' : 'daddr'} type ${not(statement)}local`
    case 'marked':
      return `meta mark & ${statement.mark} != 0`
    case 'protocol':
      return `meta l4proto ${statement.protocol.toLowerCase()}`
    case 'chance':
      return `numgen random mod ${statement.of} ${statement.hits === 1 ? '0' : `< ${statement.hits}`}`
    case 'open connections over':
      return `add @${statement.set} { meta l4proto ct count over ${statement.most} }`
    case 'dials over':
      return `limit rate over ${statement.perSecond}/second${burst(statement.perSecond)}`
    case 'set mark':
      return `meta mark set meta mark | ${statement.mark}`
    case 'clear mark':
      return `meta mark set meta mark ^ ${statement.mark}`
    case 'remember source':
      return `update @${statement.set} { ${ip} saddr }`
    case 'look up verdict':
      return `${renderFields(statement.fields, ip)} vmap @${statement.map}`
    case 'dnat by map':
      // Without a port nft says no family when it lists the rule.
      return `dnat ${statement.keepsPort === true ? '' : `${ip} `}to ${renderFields(statement.fields, ip)} . ${renderIndex(statement, ip)} map @${statement.map}`
    case 'dnat':
      if (statement.port === undefined) return `dnat to ${statement.ip}`
      return `dnat to ${family === 'ipv4' ? statement.ip : `[${statement.ip}]`}:${statement.port}`
    case 'jump':
    case 'goto':
      return `${statement.kind} ${statement.chain}`
    case 'masquerade':
      return 'masquerade fully-random'
    case 'do not track':
      return 'notrack'
    case 'reset':
      return 'reject with tcp reset'
    case 'drop':
    case 'reject':
      return statement.kind
    default:
      return statement satisfies never
  }
}

function renderIndex({ by, choices }: DnatByMap, ip: string): string {
  const seed = `seed 0x${hashSeed.toString(16)}`
  switch (by) {
    case 'chance':
      return `numgen random mod ${choices}`
    case 'turn':
      return `numgen inc mod ${choices}`
    case 'source':
      return `jhash ${ip} saddr mod ${choices} ${seed}`
    case 'flow':
      return `jhash ${ip} saddr . th sport mod ${choices} ${seed}`
    default:
      return by satisfies never
  }
}

/** nft leaves out what it takes for granted. */
function burst(packets: number): string {
  return packets === usualBurst ? '' : ` burst ${packets} packets`
}

const usualBurst = 5

function renderFields(fields: readonly Field[], ip: string): string {
  return fields.map((field) => fieldText[field].replace('IP', ip)).join(' . ')
}

const fieldText: Readonly<Record<Field, string>> = {
  source: 'IP saddr',
  destination: 'IP daddr',
  protocol: 'meta l4proto',
  port: 'th dport',
}

function not({ isNot = false }: { readonly isNot?: boolean }): string {
  return isNot ? '!= ' : ''
}
