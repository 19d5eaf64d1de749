/** Writes the settings of the machine that a changed file asks for. */
import { hasEffect } from '../../../config/live/plan-reload.ts'
import type { ReloadPlan } from '../../../config/live/plan-reload.ts'
import type { UnwrittenSetting } from '../../../dataplane/sysctl/conntrack-settings.ts'
import { SysctlError } from '../../../dataplane/sysctl/sysctl.ts'
import type { Daemon } from '../daemon.ts'
import { applyConntrackSettings, applyOomScore } from '../machine-settings.ts'
import type { PreparedNode } from '../serve.ts'

export interface Machine {
  readonly daemon: Pick<Daemon, 'host' | 'log'>
  readonly prepared: Pick<PreparedNode, 'context' | 'settings' | 'mode'>
}

const readOnly =
  'this process may not write /proc/sys: delete the pod, so that the init container of the new one writes it; ' +
  'a restart of the container alone does not'

const missing = 'the kernel has no such setting: load nf_conntrack'

/** What `prepare` of a mode reads, besides fields of its own section that are settings of the machine. */
const alsoPrepared: readonly string[] = ['nodePortAddresses', 'iptables.localhostNodePorts']

/** Returns the fields that keep their values because a setting is read-only or missing, each with the reason. */
export async function writeMachine(
  { daemon, prepared }: Machine,
  plan: ReloadPlan,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { config } = plan
  const held = new Map<string, string>()
  const hold = (fields: readonly string[], because: string) => fields.forEach((field) => held.set(field, because))
  if (hasEffect(plan, 'machine')) {
    for (const setting of await applyConntrackSettings(prepared.mode, config, prepared.context))
      hold(fieldsOf(setting), setting.error.reason === 'not-found' ? missing : readOnly)
    if (plan.live.some(({ field }) => field === 'oomScoreAdj')) await applyOomScore(config, daemon, signal)
  }
  if (hasEffect(plan, 'machine', 'rules')) hold(await prepareMode({ daemon, prepared }, plan), readOnly)
  return held
}

/** A smaller hash table than wanted makes look-ups slower; the maximum itself was written. */
function fieldsOf({ what, option }: UnwrittenSetting): readonly string[] {
  if (what === 'hash table') return []
  return option === 'maxPerCore' ? ['conntrack.maxPerCore', 'conntrack.min'] : [`conntrack.${option}`]
}

async function prepareMode({ prepared }: Machine, { config, live }: ReloadPlan): Promise<readonly string[]> {
  try {
    await prepared.mode.prepare(prepared.settings.with(config))
    return []
  } catch (error) {
    const fields = live.map(({ field }) => field)
    const affected = fields.filter((field) => field.startsWith('ipvs.') || alsoPrepared.includes(field))
    if (!(error instanceof SysctlError) || error.reason !== 'read-only' || affected.length === 0) throw error
    return affected
  }
}
