/**
 * One line of rules, cut into pieces by what they are, whichever tool it is for: nft, iptables-restore, ipvsadm, ipset,
 * ip, or a list of listeners. Nothing is left out: the texts of the pieces make up the line.
 */
type TokenKind = 'plain' | 'comment' | 'string' | 'address' | 'number' | 'flag' | 'word' | 'verdict' | 'name'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
}

const verdicts =
  'accept|drop|reject|return|masquerade|jump|goto|dnat|snat|redirect|continue|queue|notrack|ACCEPT|DROP|REJECT|RETURN|MASQUERADE|DNAT|SNAT|REDIRECT|MARK|NOTRACK|COMMIT'
const words =
  'add|delete|flush|create|destroy|insert|replace|table|chain|rule|set|map|vmap|element|elements|flowtable|type|typeof|hook|priority|policy|comment|counter|flags|interval|timeout|size|ip|ip6|inet|arp|daddr|saddr|tcp|udp|sctp|icmp|icmpv6|meta|ct|fib|th|dport|sport|l4proto|mark|state|status|new|established|related|invalid|numgen|random|mod|update|address|dev|family|hash|bitmap|range|hashsize|maxelem|proxy-port|node-port'
const octets = String.raw`\d{1,3}(?:\.\d{1,3}){3}`
const ipv6 = String.raw`(?:[0-9a-fA-F]{0,4}:){2,7}(?:${octets}|[0-9a-fA-F]{0,4})`

/** The first that fits wins. What may stand beside them keeps words whole: `web-ip` has no `ip` in it. */
const pattern = new RegExp(
  [
    String.raw`(?<string>"(?:[^"\\]|\\.)*"?)`,
    String.raw`(?<address>(?<![\w.:-])(?:\[${ipv6}\]|${octets}|${ipv6})(?:/\d{1,3})?(?:(?<=[\]\d]):\d{1,5})?(?![\w.]))`,
    String.raw`(?<flag>(?<!\S)--?[A-Za-z][\w-]*(?!\S))`,
    String.raw`(?<name>@[\w-]+|(?<![\w-])(?:KUBE|FAIRLEAD)-[A-Z0-9-]+)`,
    String.raw`(?<verdict>(?<![\w/.:@-])(?:${verdicts})(?![\w/.:-]))`,
    String.raw`(?<word>(?<![\w/.:@-])(?:${words})(?![\w/.:-]))`,
    String.raw`(?<number>(?<![\w.-])(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)(?![\w.]))`,
  ].join('|'),
  'g',
)

export function tokenize(line: string): readonly Token[] {
  // A remark that has an arrow tells of a listener: what is in it matters.
  if (/^\s*#/.test(line) && !line.includes(' -> ')) return [{ kind: 'comment', text: line }]
  const tokens: Token[] = []
  let end = 0
  for (const found of line.matchAll(pattern)) {
    if (found.index > end) tokens.push({ kind: 'plain', text: line.slice(end, found.index) })
    const [kind] = Object.entries(found.groups ?? {}).find(([, text]) => text !== undefined) ?? ['plain']
    tokens.push({ kind: kind as TokenKind, text: found[0] })
    end = found.index + found[0].length
  }
  if (end < line.length) tokens.push({ kind: 'plain', text: line.slice(end) })
  return tokens
}
