/** Asks iptables, one by one, for the matches and targets that a mode uses. Nothing is changed: iptables only tests. */
import type { Exec } from '../exec/exec.ts'

export interface MissingExtension {
  readonly tool: string
  readonly extension: string
  /** In the words of the tool. */
  readonly reason: string
}

interface Extension {
  readonly name: string
  readonly table: 'filter' | 'nat' | 'mangle'
  readonly rule: string
}

/** Of all modes that write iptables rules. */
const extensions: readonly Extension[] = [
  { name: 'comment', table: 'filter', rule: '-A INPUT -m comment --comment probe -j ACCEPT' },
  { name: 'conntrack', table: 'filter', rule: '-A INPUT -m conntrack --ctstate NEW -j ACCEPT' },
  { name: 'addrtype', table: 'nat', rule: '-A PREROUTING -m addrtype --dst-type LOCAL -j ACCEPT' },
  { name: 'mark', table: 'nat', rule: '-A POSTROUTING -m mark --mark 0x4000/0x4000 -j ACCEPT' },
  { name: 'statistic', table: 'nat', rule: '-A PREROUTING -m statistic --mode random --probability 0.5 -j ACCEPT' },
  { name: 'recent', table: 'nat', rule: '-A PREROUTING -m recent --name probe --rcheck --seconds 10 --reap -j ACCEPT' },
  { name: 'MARK', table: 'nat', rule: '-A PREROUTING -j MARK --or-mark 0x4000' },
  { name: 'MASQUERADE', table: 'nat', rule: '-A POSTROUTING -j MASQUERADE --random-fully' },
  { name: 'REJECT', table: 'filter', rule: '-A INPUT -j REJECT' },
  { name: 'DNAT', table: 'nat', rule: '-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT --to-destination :8080' },
]

/** The userspace mode can do without; then pods see the node instead of the client. */
export const keepsClientAddress: Extension = {
  name: 'socket',
  table: 'mangle',
  rule: '-A PREROUTING -m socket --transparent -j ACCEPT',
}

/** `tool` is `iptables-nft`, `ip6tables-legacy` and the like. */
export async function missingExtensions(
  exec: Exec,
  tool: string,
  signal: AbortSignal,
  wanted = extensions,
): Promise<readonly MissingExtension[]> {
  if ((await test(exec, tool, wanted, signal)) === undefined) return []
  const missing: MissingExtension[] = []
  for (const extension of wanted) {
    const reason = await test(exec, tool, [extension], signal)
    if (reason !== undefined) missing.push({ tool, extension: extension.name, reason })
  }
  return missing
}

async function test(
  exec: Exec,
  tool: string,
  wanted: readonly Extension[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const tables = ['filter', 'nat', 'mangle'] as const
  const stdin = tables
    .map((table) => ({ table, rules: wanted.filter((extension) => extension.table === table).map(({ rule }) => rule) }))
    .filter(({ rules }) => rules.length > 0)
    .map(({ table, rules }) => [`*${table}`, ...rules, 'COMMIT', ''].join('\n'))
    .join('')
  const { exitCode, stderr } = await exec(`${tool}-restore`, ['--test', '--noflush'], { signal, stdin })
  // A kernel without the module is not always a failure of the test.
  if (exitCode === 0 && !/missing kernel module/.test(stderr)) return undefined
  return stderr.trim().split('\n')[0] || `${tool}-restore ended with code ${exitCode}`
}
