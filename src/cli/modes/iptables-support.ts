/** For the modes that write iptables rules. */
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import type { ModeContext, ModeOnNode } from './mode.ts'

export function iptablesSupport({
  iptablesOf,
}: Pick<ModeContext, 'iptablesOf'>): Required<Pick<ModeOnNode, 'supports' | 'whatIsMissing'>> {
  return {
    async supports(family, signal) {
      const iptables = await iptablesOf(family, signal)
      return iptables.isSupported(signal)
    },

    async whatIsMissing(family, signal) {
      const iptables = await iptablesOf(family, signal)
      try {
        await iptables.features(signal)
        return undefined
      } catch (error) {
        if (error instanceof IptablesError && error.reason === 'tool-missing') return error.message
        throw error
      }
    },
  }
}
