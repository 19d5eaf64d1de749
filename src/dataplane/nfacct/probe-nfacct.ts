import type { Logger } from '../../core/logger.ts'
import { NfacctError } from './nfacct.ts'
import type { Nfacct } from './nfacct.ts'

/** Whether rules may name counters here. Reading any name finds out, because "no such counter" is an answer, too. */
export async function isNfacctUsable(nfacct: Nfacct, log: Logger, signal: AbortSignal): Promise<boolean> {
  try {
    await nfacct.read('fairlead-probe', signal)
    return true
  } catch (error) {
    if (!(error instanceof NfacctError)) throw error
    log.info('the kernel has no nfacct counters; rules are written without them', { error })
    return false
  }
}
