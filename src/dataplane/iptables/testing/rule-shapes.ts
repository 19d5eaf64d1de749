/** Rules of every shape that Fairlead writes, with random values, to compare our reading of them with the tools. */
import fc from 'fast-check'
import type { Family } from '../../../net/ip.ts'
import { hostPort, ipFromBigInt, parseCidr, renderCidr } from '../../../net/ip.ts'
import { renderRule } from '../language/render-rule.ts'

/** The table that the tools accept the rule in. */
export function tableFor(rule: string): 'filter' | 'nat' {
  return /-j (DROP|REJECT)$/.test(rule) ? 'filter' : 'nat'
}

/** Chains that the rules jump to: declare them before loading. */
export const shapeTargets = ['KUBE-MARK-MASQ', 'KUBE-SVC-67NZLRHBNDSAWJRO', 'KUBE-SEP-34ZZ2QFGO32YYXXO']

export function ruleShapes(family: Family, nfacctName?: string): fc.Arbitrary<string> {
  const ip = ipOf(family)
  const cidr = fc.tuple(ip, fc.integer({ min: 1, max: family === 'ipv4' ? 32 : 128 })).map(([ip, length]) => {
    const cidr = parseCidr(`${ip}/${length}`)
    return cidr === undefined ? `${ip}/1` : renderCidr(cidr)
  })
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}\/[a-z][a-z0-9-]{0,10}(:[a-z][a-z0-9]{0,5})?$/)
  const text = name.chain((name) =>
    fc.constantFrom(
      `"${name} cluster IP"`,
      `"${name} -> 10.244.1.5:8080"`,
      `"${name} has no endpoints"`,
      name,
      'plain_word-1',
      '"kubernetes service nodeports; NOTE: this must be the last rule in this chain"',
    ),
  )
  const comment = text.map((text) => `-m comment --comment ${text}`)
  const someComment = fc.option(comment, { nil: '' })
  const protocol = fc.constantFrom('tcp', 'udp', 'sctp').map((protocol) => `-m ${protocol} -p ${protocol}`)
  const port = fc.integer({ min: 1, max: 65_535 })
  const jump = fc.constantFrom(...shapeTargets, 'ACCEPT', 'DROP', 'RETURN', 'REJECT').map((target) => `-j ${target}`)
  const network = fc.oneof(
    cidr.map((cidr) => `-s ${cidr}`),
    cidr.map((cidr) => `! -s ${cidr}`),
    fc.constantFrom('-i cbr0', '! -i cbr0', '-i veth+', '! -i veth+', ''),
  )
  const mark = fc.integer({ min: 0, max: 31 }).map((bit) => `0x${(2 ** bit).toString(16).padStart(8, '0')}`)
  const sep = fc.constantFrom('KUBE-SEP-34ZZ2QFGO32YYXXO', 'KUBE-SEP-RWEQV2B7Q5U44J6N')
  const probability = fc.oneof(
    fc.integer({ min: 2, max: 5000 }).map((n) => (1 / n).toFixed(10)),
    fc.double({ min: 0.000_001, max: 0.999_999, noNaN: true }).map((share) => share.toFixed(10)),
  )
  const clientShare = fc
    .record({ seed: fc.nat(2 ** 32 - 1), share: fc.double({ min: 0, max: 1, noNaN: true }) })
    .map((hash) => renderRule({ matches: [{ kind: 'client-share', family, ...hash }], target: undefined }))
  const accounted =
    nfacctName === undefined ? fc.constant('') : fc.constantFrom('', `-m nfacct --nfacct-name ${nfacctName}`)
  const address = ip.map((ip) => `-d ${ip}`)
  const toPort = port.map((port) => `--dport ${port}`)
  const redirect = port.map((port) => `-j REDIRECT --to-ports ${port}`)
  const shapes: readonly (readonly (fc.Arbitrary<string> | string)[])[] = [
    [comment, protocol, ip.map((ip) => `-d ${ip}`), port.map((port) => `--dport ${port}`), network, jump],
    [comment, protocol, cidr.map((cidr) => `-d ${cidr}`), port.map((port) => `--dport ${port}`), accounted, jump],
    [comment, '-m addrtype --dst-type LOCAL', protocol, port.map((port) => `--dport ${port}`), jump],
    [comment, '-m addrtype --src-type LOCAL', jump],
    [comment, '-m addrtype --dst-type LOCAL', cidr.map((cidr) => `! -d ${cidr}`), jump],
    [comment, network, jump],
    [comment],
    [jump],
    [
      someComment,
      fc.tuple(sep, port).map(([sep, n]) => `-m recent --name ${sep} --rcheck --seconds ${n} --reap`),
      jump,
    ],
    [someComment, probability.map((p) => `-m statistic --mode random --probability ${p}`), jump],
    [someComment, clientShare, jump],
    [someComment, ip.map((ip) => `-s ${ip}`), '-j KUBE-MARK-MASQ'],
    [
      someComment,
      fc.option(
        sep.map((sep) => `-m recent --name ${sep} --set`),
        { nil: '' },
      ),
      protocol,
      fc.tuple(ip, port).map(([ip, port]) => `-j DNAT --to-destination ${hostPort(ip, port)}`),
    ],
    [comment, mark.map((mark) => `-m mark --mark ${mark}/${mark}`), jump],
    [mark.map((mark) => `-m mark ! --mark ${mark}/${mark}`), jump],
    [mark.map((mark) => `-j MARK --xor-mark ${mark}`)],
    [mark.map((mark) => `-j MARK --or-mark ${mark}`)],
    [comment, '-j MASQUERADE --random-fully'],
    ['-m conntrack --ctstate INVALID', accounted, '-j DROP'],
    [comment, '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT'],
    ['-m conntrack --ctstate NEW', comment, jump],
    [comment, cidr.map((cidr) => `-d ${cidr}`), network, '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP'],
    [comment, protocol, address, toPort, '-m physdev ! --physdev-is-in', redirect],
    [comment, protocol, address, toPort, '-m addrtype --dst-type LOCAL', redirect],
    [comment, cidr.map((cidr) => `-s ${cidr}`), protocol, address, toPort, redirect],
    [comment, protocol, toPort, '-m state --state NEW -j ACCEPT'],
    [comment, protocol, toPort, '-m conntrack ! --ctstate DNAT -j REJECT'],
  ]
  return fc.oneof(
    ...shapes.map((parts) =>
      fc
        .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
        .map((parts) => parts.filter((part) => part !== '').join(' ')),
    ),
  )
}

/** Also addresses with long runs of zeros, which can be printed in several ways. */
function ipOf(family: Family): fc.Arbitrary<string> {
  if (family === 'ipv4') return fc.bigInt(1n, 0xdfffffffn).map((value) => ipFromBigInt(value, 'ipv4'))
  const group = fc.oneof(fc.constant(0n), fc.constant(0n), fc.bigInt(0n, 0xffffn))
  return fc
    .tuple(fc.constantFrom(0xfd00n, 0x2001n, 0n), group, group, group, group, group, group, fc.bigInt(1n, 0xffffn))
    .map((groups) =>
      ipFromBigInt(
        groups.reduce((sum, group) => (sum << 16n) | group, 0n),
        'ipv6',
      ),
    )
    .filter((ip) => ip.includes(':') && !ip.startsWith('::ffff:'))
}
