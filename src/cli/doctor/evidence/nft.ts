import { findNft } from '../../../dataplane/nft/command/find-nft.ts'
import { missingNftFeatures } from '../../../dataplane/nft/command/probe-features.ts'
import type { MissingNftFeature } from '../../../dataplane/nft/command/probe-features.ts'
import { NftError } from '../../../dataplane/nft/nft.ts'
import { CannotLook } from '../evidence.ts'
import type { Host } from '../../host/host.ts'
import type { Setup } from '../setup.ts'

export interface NftFacts {
  /** Why the mode cannot run at all. */
  readonly obstacle: string | undefined
  readonly missing: readonly MissingNftFeature[]
}

export async function readNft(
  { exec, env, kernelRelease }: Pick<Host, 'exec' | 'env' | 'kernelRelease'>,
  { families }: Pick<Setup, 'families'>,
  signal: AbortSignal,
): Promise<NftFacts> {
  const missing: MissingNftFeature[] = []
  try {
    for (const family of families) {
      missing.push(...(await missingNftFeatures(exec, family, signal)))
      await findNft({ family, exec, env, kernelRelease: kernelRelease() }, signal)
    }
    return { obstacle: undefined, missing }
  } catch (error) {
    if (!(error instanceof NftError)) throw error
    if (error.reason === 'not-permitted')
      throw new CannotLook(error.message, 'Run as root, or with CAP_NET_ADMIN.', { cause: error })
    return { obstacle: missing.length > 0 ? undefined : error.message, missing }
  }
}
