/** Starts from the state on disk, when there is one: the cluster may be out of reach, the traffic is here now. */
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { loadState, restoreState } from '../../sources/saved/saved-state.ts'

export interface SavedStart {
  /** Unix milliseconds; undefined when there was nothing to start from. */
  readonly savedAtMs: number | undefined
}

export async function startFromSavedState(
  folder: string,
  { catalog, clock, log }: { readonly catalog: Catalog; readonly clock: Clock; readonly log: Logger },
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
      restoreState(catalog, state.records)
      const ageSeconds = Math.round((clock.now() - state.savedAtMs) / 1000)
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
