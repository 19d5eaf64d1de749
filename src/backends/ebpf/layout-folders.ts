/**
 * Where tables are pinned: a folder for each layout, named by its number, as in `2/maps/config` and `2/links/connect4`. The folder
 * that these are in may be one where others pin, too: whatever has another name is theirs.
 */
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'

/** All that is pinned there by Fairlead, of whatever version: paths relative to the folder, sorted. */
export async function pinsOfLayouts(bpf: Pick<Bpf, 'pinned'>, folder: string): Promise<readonly string[]> {
  return (await bpf.pinned(folder)).filter((path) => /^\d+\//.test(path))
}

/** The folders of the layouts, of such paths. Each once. */
export function layoutFolders(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.map((path) => path.slice(0, path.indexOf('/'))))]
}

/** Of such a path. */
export function isPinOfLink(path: string): boolean {
  return path.split('/')[1] === 'links'
}
