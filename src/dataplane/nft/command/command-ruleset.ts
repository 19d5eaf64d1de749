/** The ruleset through the nft command. Where there is none, the kernel itself tells which tables there are. */
import type { Exec } from '../../exec/exec.ts'
import { NetlinkError } from '../../netlink/netlink-error.ts'
import type { OpenNetlink } from '../../netlink/open-netlink.ts'
import { listTables } from '../netlink/list-tables.ts'
import type { TableName } from '../netlink/list-tables.ts'
import type { NftRuleset } from '../nft-ruleset.ts'
import { NftError } from '../nft.ts'
import { parseTableNames, parseTableShape } from './ruleset-text.ts'
import { nftFamily } from './script.ts'
import { startError, toolError } from './tool-error.ts'

export interface CommandRulesetOptions {
  readonly exec: Exec
  readonly openNetlink: OpenNetlink
}

/** A table of 10,000 services. */
const maxStdoutBytes = 400 << 20

export function commandRuleset({ exec, openNetlink }: CommandRulesetOptions): NftRuleset {
  const run = async (doing: string, args: readonly string[], signal: AbortSignal) => {
    const result = await exec('nft', args, { signal, env: { LC_ALL: 'C' }, maxStdoutBytes }).catch((error: unknown) => {
      throw startError(doing, error)
    })
    if (result.exitCode !== 0) throw toolError(doing, result)
    return result.stdout
  }

  return {
    async list(signal) {
      try {
        const printed = await run('list the tables of nf_tables', ['list', 'tables'], signal)
        return { tables: parseTableNames(printed), canChange: true }
      } catch (error) {
        if (!(error instanceof NftError)) throw error
        // A kernel without nf_tables holds nothing in it.
        if (error.reason === 'no-kernel-support') return { tables: [], canChange: true }
        if (error.reason !== 'no-tool') throw error
        return { tables: await tablesOfKernel(openNetlink, signal), canChange: false }
      }
    },

    async shape(table, signal) {
      // Without the elements of sets: how many there are is all the same.
      const args = ['--terse', 'list', 'table', ...wordsFor(table)]
      return parseTableShape(await run(`read nf_tables ${wordsFor(table).join(' ')}`, args, signal))
    },

    async deleteTable(table, signal) {
      await run(`delete nf_tables ${wordsFor(table).join(' ')}`, ['delete', 'table', ...wordsFor(table)], signal)
    },

    async deleteChain(table, chain, signal) {
      const doing = `delete chain ${chain} from nf_tables ${wordsFor(table).join(' ')}`
      await run(doing, ['delete', 'chain', ...wordsFor(table), chain], signal)
    },
  }
}

/** The tool may be in the image of the proxy that was, and not in ours. */
async function tablesOfKernel(openNetlink: OpenNetlink, signal: AbortSignal): Promise<readonly TableName[]> {
  try {
    return await listTables(openNetlink, signal)
  } catch (error) {
    // Then a proxy could not have made one either.
    if (error instanceof NetlinkError) return []
    throw error
  }
}

function wordsFor({ family, name }: TableName): readonly [string, string] {
  return [nftFamily(family), name]
}
