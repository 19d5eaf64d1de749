/** One Host Compute Network for the start and both families, so that calls stay one at a time. */
import type { Clock } from '../../../core/clock.ts'
import { lend } from '../../../core/lend.ts'
import type { HcnDriver } from '../../../dataplane/hcn/driver.ts'
import { hcnOverDriver } from '../../../dataplane/hcn/hcn-over-driver.ts'
import type { Hcn } from '../../../dataplane/hcn/hcn.ts'

export interface LentHcn extends AsyncDisposable {
  readonly hcn: Hcn
}

export type LendHcn = () => Promise<LentHcn>

/** HNS may work for seconds; what takes longer hangs. */
export const hcnTimeLimitMs = 30_000

export function lendHcn(open: () => Promise<HcnDriver>, clock: Clock): LendHcn {
  const borrow = lend(async () => {
    const driver = await open()
    const hcn = hcnOverDriver(driver, { clock, timeLimitMs: hcnTimeLimitMs })
    return { hcn, [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose]() }
  })
  return async () => {
    const lent = await borrow()
    return { hcn: lent.it.hcn, [Symbol.asyncDispose]: () => lent[Symbol.asyncDispose]() }
  }
}
