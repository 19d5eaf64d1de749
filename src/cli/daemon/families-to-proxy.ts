import { checkFamilies, nodePortWarnings } from '../../config/validation/family-checks.ts'
import type { FamilyCheck } from '../../config/validation/family-checks.ts'
import type { Family } from '../../net/ip.ts'
import type { ModeContext, ModeOnNode, ModeSettings } from '../modes/mode.ts'
import { CommandError } from '../program.ts'
import type { ThisNode } from './node-at-start.ts'
import { closedNodePortWarnings } from './node-port-check.ts'

/** The families that machine and mode both support. Warns of what does not fit together; throws where it cannot work. */
export async function familiesToProxy(
  mode: ModeOnNode,
  context: ModeContext,
  { addresses: { primaryFamily } }: ThisNode,
  signal: AbortSignal,
): Promise<readonly Family[]> {
  const { host, log } = context
  const candidates: readonly Family[] = host.hasIpv6() ? ['ipv4', 'ipv6'] : ['ipv4']
  const areSupported = await Promise.all(candidates.map((family) => mode.supports(family, signal)))
  const families = candidates.filter((_, index) => areSupported[index])
  if (!families.includes(primaryFamily)) throw await unsupported(mode, primaryFamily, signal)
  const isDualStack = families.length === 2
  log.info(isDualStack ? 'proxying both IP families' : 'proxying one IP family', { primaryFamily })
  const { warnings, fatal } = checkSettings(mode, context.settings(), { primaryFamily, families })
  for (const warning of warnings) log.warn('configuration', { warning })
  if (fatal !== undefined) throw new CommandError(fatal)
  return families
}

/** What in the settings does not fit this node. */
export function checkSettings(
  mode: Pick<ModeOnNode, 'nodePorts'>,
  settings: ModeSettings,
  { primaryFamily, families }: { readonly primaryFamily: Family; readonly families: readonly Family[] },
): FamilyCheck {
  const { config, podCIDRs: podCidrs } = settings
  const isDualStack = families.length === 2
  const { warnings, fatal } = checkFamilies(config, { podCidrs, primaryFamily, isDualStack })
  return { warnings: [...warningsAboutNodePorts(mode, settings, primaryFamily, families), ...warnings], fatal }
}

async function unsupported(mode: ModeOnNode, family: Family, signal: AbortSignal): Promise<CommandError> {
  const missing = await mode.whatIsMissing?.(family, signal)
  const reason = missing ?? 'the machine does not support it, or the tools of the mode cannot run'
  return new CommandError(
    `no support for primary IP family "${family}" in mode ${mode.name}: ${reason}; ` +
      'or choose another mode with --proxy-mode',
  )
}

function warningsAboutNodePorts(
  { nodePorts }: Pick<ModeOnNode, 'nodePorts'>,
  { config, nodePortAddresses, podCIDRs, localIps }: ModeSettings,
  primaryFamily: Family,
  families: readonly Family[],
): readonly string[] {
  if (nodePorts === 'on-loopback') return []
  if (nodePorts === 'everywhere')
    return nodePortAddresses.length === 0
      ? []
      : [`nodePortAddresses has no effect in this mode: node ports are open on all local IPs`]
  return [
    ...nodePortWarnings({ ...config, nodePortAddresses }, { podCidrs: podCIDRs, primaryFamily }),
    ...closedNodePortWarnings(nodePortAddresses, families, localIps()),
  ]
}
