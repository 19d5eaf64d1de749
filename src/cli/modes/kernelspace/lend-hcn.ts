/** One Host Compute Network for the start and both families, so that calls stay one at a time; closed when nobody uses it. */
import type { Clock } from '../../../core/clock.ts'
import type { HcnDriver } from '../../../dataplane/hcn/driver.ts'
import { hcnOverDriver } from '../../../dataplane/hcn/hcn-over-driver.ts'
import type { Hcn } from '../../../dataplane/hcn/hcn.ts'

export interface LentHcn extends AsyncDisposable {
  readonly hcn: Hcn
}

export type LendHcn = () => Promise<LentHcn>

/** HNS may work for seconds; what takes longer hangs. */
export const hcnTimeLimitMs = 30_000

interface Opened {
  readonly driver: HcnDriver
  readonly hcn: Hcn
}

export function lendHcn(open: () => Promise<HcnDriver>, clock: Clock): LendHcn {
  let opened: Promise<Opened> | undefined
  let borrowers = 0

  const openOnce = async (): Promise<Opened> => {
    const driver = await open()
    return { driver, hcn: hcnOverDriver(driver, { clock, timeLimitMs: hcnTimeLimitMs }) }
  }
  const giveBack = async (driver: HcnDriver) => {
    borrowers--
    if (borrowers > 0) return
    opened = undefined
    await driver[Symbol.asyncDispose]()
  }

  return async () => {
    borrowers++
    try {
      const { driver, hcn } = await (opened ??= openOnce())
      let isBorrowed = true
      return {
        hcn,
        async [Symbol.asyncDispose]() {
          if (isBorrowed) await giveBack(driver)
          isBorrowed = false
        },
      }
    } catch (error) {
      borrowers--
      opened = undefined
      throw error
    }
  }
}
