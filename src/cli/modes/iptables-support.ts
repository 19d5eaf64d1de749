/** For the modes that write iptables rules. */
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeContext } from './mode.ts'

/** What has to be installed before these modes can work; undefined when the tools are there. */
export async function missingIptables(
  family: Family,
  { iptablesOf }: Pick<ModeContext, 'iptablesOf'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const iptables = await iptablesOf(family, signal)
  try {
    await iptables.features(signal)
    return undefined
  } catch (error) {
    if (error instanceof IptablesError && error.reason === 'tool-missing') return error.message
    throw error
  }
}
