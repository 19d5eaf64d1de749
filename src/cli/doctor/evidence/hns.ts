/** The Host Compute Network of Windows. */
import { featuresOf } from '../../../dataplane/hcn/features.ts'
import { HcnError } from '../../../dataplane/hcn/hcn.ts'
import { hcnOverDriver } from '../../../dataplane/hcn/hcn-over-driver.ts'
import type { Host } from '../../host/host.ts'
import { wayOutOf } from '../../modes/kernelspace/check-hns.ts'
import { hcnTimeLimitMs } from '../../modes/kernelspace/lend-hcn.ts'

export type HnsFacts =
  | {
      readonly kind: 'answers'
      readonly version: string
      readonly hasV2: boolean
      readonly hasDsr: boolean
      /** As configured; undefined: not there. */ readonly network: string | undefined
    }
  | { readonly kind: 'fails'; readonly reason: string; readonly fix: string }

export async function readHns(
  host: Pick<Host, 'openHcn' | 'clock'>,
  networkName: string,
  signal: AbortSignal,
): Promise<HnsFacts> {
  try {
    await using driver = await host.openHcn()
    const hcn = hcnOverDriver(driver, { clock: host.clock, timeLimitMs: hcnTimeLimitMs })
    const version = await hcn.version(signal)
    const { apiV2, dsr } = featuresOf(version)
    const network = networkName === '' ? undefined : (await hcn.networkNamed(networkName, signal))?.name
    return { kind: 'answers', version: `${version.major}.${version.minor}`, hasV2: apiV2, hasDsr: dsr, network }
  } catch (error) {
    if (!(error instanceof HcnError)) throw error
    return { kind: 'fails', reason: error.message, fix: wayOutOf(error) }
  }
}
