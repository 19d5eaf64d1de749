/** Links through the `ip` command, for machines where netlink does not work. */
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { AddressError, notDummy } from './addresses.ts'
import type { FoundLink, Links } from './addresses.ts'

export function commandLinks(exec: Exec): Links {
  const find: Links['find'] = async (link, signal) => {
    // In two steps, because the "ip" of BusyBox cannot print JSON. On most nodes the link is missing, so the first is enough.
    const shown = await runIp(exec, ['link', 'show', 'dev', link], signal)
    if (shown?.exitCode !== 0) return undefined
    return parseLink(
      await must(`look at the link ${link}`, ['-json', '-details', 'address', 'show', 'dev', link], signal),
    )
  }
  const must = async (doing: string, args: readonly string[], signal: AbortSignal) => {
    const result = await runIp(exec, args, signal)
    if (result?.exitCode === 0) return result.stdout
    const complaint = result?.stderr.trim() ?? 'there is no program "ip"'
    const isDenied = /Operation not permitted|Permission denied/.test(complaint)
    throw new AddressError(isDenied ? 'not-permitted' : 'refused', `cannot ${doing}: ${complaint}`)
  }
  return {
    find,

    async removeDummy(link, signal) {
      const found = await find(link, signal)
      if (found === undefined) return
      if (found.kind !== 'dummy') throw notDummy(link, found.kind)
      await must(`remove the link ${link}`, ['link', 'delete', 'dev', link], signal)
    },
  }
}

/** Returns nothing if there is no such program. */
async function runIp(exec: Exec, args: readonly string[], signal: AbortSignal): Promise<ExecResult | undefined> {
  try {
    return await exec('ip', args, { signal, env: { LC_ALL: 'C' }, maxStdoutBytes: 64 << 20 })
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    if (error.reason === 'not-found') return undefined
    throw new AddressError('refused', error.message, { cause: error })
  }
}

/** Reads `ip -json -details address show dev LINK`. */
function parseLink(printed: string): FoundLink {
  interface Shown {
    readonly linkinfo?: { readonly info_kind?: string }
    readonly addr_info?: readonly { readonly local?: string }[]
  }
  const [shown] = JSON.parse(printed) as readonly Shown[]
  return {
    kind: shown?.linkinfo?.info_kind ?? 'unknown',
    ips: (shown?.addr_info ?? []).flatMap(({ local }) => local ?? []),
  }
}
