/** Starts from the state on disk and keeps it up to date: the cluster may be out of reach, the traffic is here now. */
import type { PodWeights } from '../../core/care/pod-weights.ts'
import type { Catalog } from '../../core/catalog.ts'
import { loadState, restoreState } from '../../sources/saved/saved-state.ts'
import { StateKeeper } from '../../sources/saved/state-keeper.ts'
import type { Runnable } from '../run-all.ts'
import type { ClusterParts, Daemon } from './daemon.ts'

export interface SavedStart {
  /** Unix milliseconds; absent when there was nothing to start from. */
  readonly savedAtMs: number | undefined
}

export async function startFromSavedState(
  { stateDir: folder, host, log }: Pick<Daemon, 'stateDir' | 'host' | 'log'>,
  catalog: Catalog,
  podWeights?: PodWeights,
): Promise<SavedStart> {
  if (folder === '') return { savedAtMs: undefined }
  const state = await loadState(folder)
  switch (state.kind) {
    case 'none':
      return { savedAtMs: undefined }
    case 'unusable':
      log.warn('saved state is not used', { reason: state.reason })
      return { savedAtMs: undefined }
    case 'loaded': {
      const [reason, ...more] = state.dropped
      if (reason !== undefined)
        log.warn('part of the saved state is not used', {
          reason,
          ...(more.length > 0 && { moreRecords: more.length }),
        })
      podWeights?.replace(state.pods)
      catalog.podsListed()
      restoreState(catalog, state.records)
      const ageSeconds = Math.round((host.clock.now() - state.savedAtMs) / 1000)
      log.info('starting from the saved state until the API server answers', {
        folder,
        ageSeconds,
        services: catalog.services.size,
        endpointSlices: catalog.slices.size,
      })
      return { savedAtMs: state.savedAtMs }
    }
    default:
      return state satisfies never
  }
}

export function stateKeeper(
  { stateDir: folder, host: { clock }, log }: Daemon,
  { catalog, source, saved }: ClusterParts,
): readonly Runnable[] {
  if (folder === '') return []
  const isRestored = saved.savedAtMs !== undefined
  return [new StateKeeper({ folder, catalog, pods: source.podWeights, isRestored, clock, log })]
}
