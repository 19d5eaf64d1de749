/** The rules of the network namespace that this process is in. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { enterFreshNamespace, run } from '../../../dataplane/netlink/testing/network-namespace.ts'
import { counterNames } from '../../../dataplane/iptables/language/counters.ts'
import { goldenFiles } from './golden-files.ts'

export const neededPrograms = [
  'iptables-nft',
  'ip6tables-nft',
  'iptables-legacy',
  'ip6tables-legacy',
  'nft',
  'nfacct',
  'ipset',
  'ip',
] as const

export const variants = ['nft', 'legacy'] as const
export type Variant = (typeof variants)[number]
export const commands = ['iptables', 'ip6tables'] as const

/**
 * Call it in a `describe`: each of its tests then starts in an empty namespace. They have an xtables lock of their own,
 * because all namespaces of a host share the usual one.
 */
export function eachOnFreshNode(): void {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-cleanup-'))
  })
  beforeEach(() => {
    enterFreshNamespace()
    process.env['XTABLES_LOCKFILE'] = join(folder, 'xtables.lock')
  })
  afterAll(() => rmSync(folder, { recursive: true }))
}

/** All that a clean-up could touch, as text. Without counts of packets: those are nobody's rules. */
export function kernelState(): string {
  return run(`
    for table in mangle filter nat; do for command in iptables ip6tables; do
      $command-legacy-save -t $table
      $command-nft-save -t $table 2>&1
    done; done
    nft list ruleset
    ipset save
    nfacct list
    ip -brief address show
    for family in -4 -6; do ip $family rule; ip $family route show table all | grep 'table 4096' || true; done`)
    .replaceAll(/^# .*\n/gm, '')
    .replaceAll(/\[\d+:\d+\]/g, '[0:0]')
    .replaceAll(/counter packets \d+ bytes \d+/g, 'counter')
}

interface GoldenOptions {
  readonly mode?: '' | 'ipvs-' | 'userspace-'
  /** Then the jumps to KUBE-FIREWALL are there, and a proxy makes no others. */
  readonly hasKubelet?: boolean
}

/** Every rule of every scenario, one on top of the other, so that the jumps are there many times. */
export function loadIptablesGoldens(variant: Variant, { mode = '', hasKubelet = false }: GoldenOptions = {}): void {
  for (const name of Object.values(counterNames)) run(`nfacct list | grep -q ${name} || nfacct add ${name}`)
  for (const command of commands)
    for (const { path } of goldenFiles(`${mode}${command}-save.txt`)) {
      // A real proxy makes chains of the kernel only where it has a jump to put in. This kernel may have no IPVS.
      const edits = [
        '/^:[A-Z]* ACCEPT/d',
        '/ -m ipvs /d',
        ...(hasKubelet && command === 'iptables' ? ['/ -j KUBE-FIREWALL$/d'] : []),
      ]
      run(`sed '${edits.join(';')}' ${path} | ${command}-${variant}-restore --noflush`)
    }
}

export function loadNftGoldens(): void {
  for (const { path } of goldenFiles('nft-ruleset.txt')) run(`nft -f ${path}`)
}

export function loadIpsetGoldens(): void {
  // They are sorted by name, and sets must be made before they are filled.
  for (const { path } of goldenFiles('ipset-save.txt')) run(`sort -r ${path} | ipset -exist restore`)
}

/** What the userspace mode makes where pods see the client's address. */
export function loadAnswerRules(variant: Variant): void {
  for (const [command, ip] of [
    ['iptables', 'ip -4'],
    ['ip6tables', 'ip -6'],
  ])
    run(`
      ${command}-${variant} -t mangle -N KUBE-PORTALS-ANSWERS
      ${command}-${variant} -t mangle -A KUBE-PORTALS-ANSWERS -m socket --transparent -j MARK --or-mark 0x1000
      ${command}-${variant} -t mangle -A PREROUTING -m comment \\
        --comment "kubernetes service portals: answers of pods to clients" -j KUBE-PORTALS-ANSWERS
      ${ip} rule add priority 90 fwmark 0x1000/0x1000 lookup 4096
      ${ip} route add local default dev lo table 4096`)
}

/** What kubelet 1.36 makes. */
export function addKubelet(variant: Variant): void {
  for (const command of commands)
    run(`
      for table in mangle nat filter; do ${command}-${variant} -t $table -N KUBE-KUBELET-CANARY; done
      ${command}-${variant} -t mangle -N KUBE-IPTABLES-HINT`)
  run(`
    iptables-${variant} -N KUBE-FIREWALL
    iptables-${variant} -I OUTPUT -j KUBE-FIREWALL
    iptables-${variant} -I INPUT -j KUBE-FIREWALL
    iptables-${variant} -A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment \\
      --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`)
}
