/** What the ebpf mode leaves: maps and links that are pinned. Programs go with their links. */
import { join } from 'node:path'
import { nothingFound } from '../../core/leftover.ts'
import type { Findings, Leftover } from '../../core/leftover.ts'
import { undefinedIf } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import { isPinOfLink, layoutFolders, pinsOfLayouts } from './layout-folders.ts'
import { decodeConfig, isConfigMap } from './layout.ts'

interface Place {
  /** Rejects where the kernel has no such thing. */
  readonly openBpf: () => Promise<Bpf>
  /** The folder in a BPF file system. */
  readonly pins: string
  /** The number of the network namespace that this process is in. Undefined: the kernel does not tell. */
  readonly ownNamespace: () => Promise<bigint | undefined>
}

export async function findLeftovers({ openBpf, pins, ownNamespace }: Place): Promise<Findings> {
  const bpf = await openBpf().catch(undefinedIf('unsupported'))
  const names = bpf === undefined ? [] : await pinsOfLayouts(bpf, pins)
  if (bpf === undefined || names.length === 0) return nothingFound
  if (await isOfAnotherNode(bpf, pins, names, ownNamespace))
    return { ...nothingFound, notes: [anotherNodes(pins, names)] }
  const leftovers = names.map((name): Leftover => ({
    what: `bpf: ${join(pins, name)}`,
    reason: `a ${isPinOfLink(name) ? 'program at sockets' : 'map'} of the ebpf mode of Fairlead`,
    modes: ['ebpf'],
  }))
  return { ...nothingFound, removals: [{ leftovers, remove: () => removePins(bpf, pins, names) }] }
}

/** A file system for pins may be shared by nodes that are containers. Nobody but its own node knows what it still needs. */
async function isOfAnotherNode(
  bpf: Bpf,
  pins: string,
  names: readonly string[],
  ownNamespace: Place['ownNamespace'],
): Promise<boolean> {
  for (const name of names.filter((path) => path.endsWith('/maps/config'))) {
    using config = await bpf.openMap(join(pins, name)).catch(undefinedIf('not-permitted', 'refused', 'unsupported'))
    const hostNetns = config !== undefined && isConfigMap(config.spec) ? decodeConfig(config.bytes).hostNetns : 0n
    // Zero: its kernel did not tell it.
    if (hostNetns !== 0n && hostNetns !== (await ownNamespace())) return true
  }
  return false
}

function anotherNodes(pins: string, names: readonly string[]): string {
  const folders = layoutFolders(names).map((name) => join(pins, name))
  return `the programs at sockets that are pinned in ${pins} belong to another network namespace; if that one is gone, remove them with: rm -r ${folders.join(' ')}`
}

/** Links first: a program without its maps would still run. */
async function removePins(bpf: Bpf, pins: string, names: readonly string[]): Promise<void> {
  for (const name of names.filter(isPinOfLink)) {
    using link = await bpf.openLink(join(pins, name)).catch(undefinedIf('not-permitted', 'refused'))
    // Who may not do this may still remove the pin, and without it and a process that holds the link it ends as well.
    if (link !== undefined) await bpf.detach(link).catch(undefinedIf('not-permitted'))
  }
  for (const name of layoutFolders(names)) await bpf.unpin(join(pins, name))
  // It may be the BPF file system itself.
  if ((await bpf.pinned(pins)).length === 0) await bpf.unpin(pins).catch(undefinedIf('refused'))
}
