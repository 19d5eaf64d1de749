/** What the mode needs of HNS before anything else, and what this HNS can do. */
import { featuresOf } from '../../../dataplane/hcn/features.ts'
import type { HnsFeatures } from '../../../dataplane/hcn/features.ts'
import { HcnError } from '../../../dataplane/hcn/hcn.ts'
import type { Hcn, HnsVersion } from '../../../dataplane/hcn/hcn.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { CommandError } from '../../program.ts'

interface CheckedHns {
  readonly version: HnsVersion
  readonly features: HnsFeatures
}

export async function checkHns(hcn: Hcn, { enableDsr }: { readonly enableDsr: boolean }, signal: AbortSignal) {
  const version = await asked(hcn, signal)
  const features = featuresOf(version)
  const shown = `${version.major}.${version.minor}`
  if (!features.apiV2)
    throw cannotRun(
      `HNS has version ${shown} and lacks the V2 API, which came with 9.2: use Windows Server 2019 or later`,
    )
  if (enableDsr && !features.dsr)
    throw cannotRun(
      `HNS ${shown} has no direct server return: update Windows (Server 2019 has it from build 17763.1432 on), ` +
        'or leave out --enable-dsr (winkernel.enableDSR)',
    )
  return { version, features } satisfies CheckedHns
}

/** kube-proxy's own probe comes first: nothing may be changed where it fails. */
async function asked(hcn: Hcn, signal: AbortSignal): Promise<HnsVersion> {
  try {
    await hcn.loadBalancerSummaries(signal)
    return await hcn.version(signal)
  } catch (error) {
    signal.throwIfAborted()
    throw refusalOf(error)
  }
}

/** The sentence for somebody whose HNS cannot be asked. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof HcnError)) return error
  return cannotRun(`${error.message}; ${wayOutOf(error)}`, error)
}

export function wayOutOf({ hresult: code, reason }: HcnError): string {
  if (code === hresult.accessDenied)
    return 'run as Administrator or LocalSystem, in a HostProcess container as "NT AUTHORITY\\SYSTEM"'
  if (reason === 'missing')
    return 'it needs Windows Server 2019 or later with containers: Install-WindowsFeature Containers'
  return 'Windows kernel is not compatible for Kernel mode, unless HNS only starts: see Get-Service hns'
}

export function cannotRun(reason: string, cause?: unknown): CommandError {
  return new CommandError(`the kernelspace mode cannot run here: ${reason}`, { cause })
}
