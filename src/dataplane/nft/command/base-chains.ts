/** What other programs have hung into the kernel's hooks, through the nft command. Their tables are read one by one. */
import type { Exec } from '../../exec/exec.ts'
import { NftError } from '../nft.ts'
import { startError, toolError } from './tool-error.ts'

/** A chain that the kernel itself calls. */
export interface BaseChain {
  /** As nft names it: `ip`, `ip6`, `inet`, `bridge`, `netdev`, `arp`. */
  readonly family: string
  readonly table: string
  readonly chain: string
  readonly type: string
  readonly hook: string
  readonly priority: number
  readonly policy: string
}

/** Blocklists can be long. */
const maxStdoutBytes = 64 << 20

/** Rejects with an NftError. A kernel without nf_tables has none. */
export async function readBaseChains(exec: Exec, signal: AbortSignal): Promise<readonly BaseChain[]> {
  const listed = await readJson(exec, 'list the chains of nf_tables', ['list', 'chains'], signal)
  return listed.flatMap((item) => {
    const { family, table, name, type, hook, prio, policy } = fieldsOf(item, 'chain')
    if (typeof hook !== 'string' || typeof prio !== 'number') return []
    return [
      {
        family: String(family),
        table: String(table),
        chain: String(name),
        type: String(type),
        hook,
        priority: prio,
        policy: typeof policy === 'string' ? policy : 'accept',
      },
    ]
  })
}

/** The objects of one table, as `nft --json` prints them. */
export function readTableJson(
  exec: Exec,
  { family, table }: Pick<BaseChain, 'family' | 'table'>,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  return readJson(exec, `read the table ${family} ${table}`, ['list', 'table', family, table], signal)
}

async function readJson(
  exec: Exec,
  doing: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const options = { signal, env: { LC_ALL: 'C' }, maxStdoutBytes }
  const result = await exec('nft', ['--json', ...args], options).catch((error: unknown) => {
    throw startError(doing, error)
  })
  if (result.exitCode !== 0) {
    const error = toolError(doing, result)
    if (error.reason === 'no-kernel-support') return []
    throw error
  }
  try {
    const { nftables } = JSON.parse(result.stdout) as { readonly nftables?: unknown }
    return Array.isArray(nftables) ? nftables : []
  } catch (error) {
    throw new NftError('failed', `cannot ${doing}: nft printed no JSON`, { cause: error })
  }
}

function fieldsOf(item: unknown, kind: string): Readonly<Record<string, unknown>> {
  const value = (item as Readonly<Record<string, unknown>> | null)?.[kind]
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
