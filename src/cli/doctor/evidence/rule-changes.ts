/** Who changes the rules of nf_tables while we look. */
import { NfTablesEvents } from '../../../dataplane/nf-tables/nf-tables-events.ts'
import { readGeneration } from '../../../dataplane/nf-tables/generation.ts'
import { NetlinkError } from '../../../dataplane/netlink/netlink-error.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export interface RuleChange {
  /** `iptables-nft-re (process 4711)`; the kernel keeps 15 letters of a name. */
  readonly process: string
  readonly pid: number | undefined
  readonly count: number
}

/** Long enough to catch a proxy that fights with another: each repairs what the other has done. */
const watchMs = 1_000

export async function readRuleChanges(
  { openDatagrams, clock }: Pick<Host, 'openDatagrams' | 'clock'>,
  signal: AbortSignal,
): Promise<readonly RuleChange[]> {
  try {
    await using events = await NfTablesEvents.open(openDatagrams)
    await clock.sleep(watchMs, signal)
    const counts = new Map<string, number>()
    for await (const told of events.take()) {
      if (told === 'lost') continue
      for (const message of told) {
        const generation = readGeneration(message)
        if (generation !== undefined) counts.set(generation.process, (counts.get(generation.process) ?? 0) + 1)
      }
    }
    return [...counts].map(([process, count]) => {
      const pid = /\(process (\d+)\)$/.exec(process)?.[1]
      return { process, count, pid: pid === undefined ? undefined : Number(pid) }
    })
  } catch (error) {
    signal.throwIfAborted()
    const fix = error instanceof NetlinkError && error.reason === 'not-permitted' ? 'Run as root.' : undefined
    throw new CannotLook((error as Error).message, fix, { cause: error })
  }
}
