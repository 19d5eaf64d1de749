/** What proxies left on this machine, whichever system it has. Only reads. */
import { findLeftovers as findPins } from '../../backends/ebpf/leftovers.ts'
import { findOwnTables } from '../../backends/nftables/leftovers.ts'
import { nothingFound } from '../../core/leftover.ts'
import type { Findings } from '../../core/leftover.ts'
import type { Logger } from '../../core/logger.ts'
import { commandRuleset } from '../../dataplane/nft/command/command-ruleset.ts'
import type { Host } from '../host/host.ts'
import { openDoors } from './cleanup-doors.ts'
import type { CleanupHost as LinuxHost } from './cleanup-doors.ts'
import { findLeftovers } from './find-leftovers.ts'

/** What it takes of the machine. */
export type CleanupHost = LinuxHost & Pick<Host, 'platform' | 'env' | 'openHcn'>

export interface CleanupPlace {
  readonly host: CleanupHost
  /** That of the proxy that left something; empty: the usual one. */
  readonly stateDir: string
  /** Where its ebpf mode pinned. */
  readonly pins: string
  /** Only what no kube-proxy uses. On Windows everything that is found is of that kind. */
  readonly isOwnTablesOnly?: boolean
  readonly log?: Logger
}

/** They can be removed as long as their doors are open. */
export interface OpenFindings extends Findings, AsyncDisposable {}

export const nothingOpen: OpenFindings = { ...nothingFound, [Symbol.asyncDispose]: () => Promise.resolve() }

/** `running` is the mode of this process, if it runs one: what is that one's is not looked for where that costs time. */
export async function leftoversOnNode(
  place: CleanupPlace,
  signal: AbortSignal,
  running?: string,
): Promise<OpenFindings> {
  if (place.host.platform === 'win32') return onWindows(place, signal, running)
  const { host, pins } = place
  if (place.isOwnTablesOnly === true) {
    const ownNamespace = async () => (await host.openSockets()).ownNamespace()
    const pinned = await findPins({ openBpf: () => host.openBpf(), pins, ownNamespace })
    const tables = await findOwnTables({ nft: commandRuleset(host) }, signal)
    return {
      ...nothingOpen,
      removals: [...pinned.removals, ...tables.removals],
      problems: [...pinned.problems, ...tables.problems],
      notes: pinned.notes,
    }
  }
  return { ...nothingOpen, ...(await findLeftovers(await openDoors(host, pins, signal), signal)) }
}

async function onWindows(place: CleanupPlace, signal: AbortSignal, running?: string): Promise<OpenFindings> {
  const { windowsSources } = await import('./windows-sources.ts')
  const parts: OpenFindings[] = []
  const close = async () => void (await Promise.all(parts.map((part) => part[Symbol.asyncDispose]())))
  try {
    for (const source of windowsSources)
      if (source.mode !== running) parts.push(await source.findLeftovers(place, signal))
  } catch (error) {
    await close()
    throw error
  }
  return {
    removals: parts.flatMap(({ removals }) => removals),
    problems: parts.flatMap(({ problems }) => problems),
    [Symbol.asyncDispose]: close,
  }
}
