import { type KnownGate, knownGates } from './known-feature-gates.ts'

/** Gates that the configuration does not mention have their default. */
export type FeatureGates = Readonly<Record<string, boolean>>

/** The gates that Fairlead reads. */
export type UsedGate =
  | 'AllowServiceExternalIPs'
  | 'ComponentFlagz'
  | 'ComponentStatusz'
  | 'LoggingAlphaOptions'
  | 'LoggingBetaOptions'
  | 'NativeHistograms'
  | 'WatchListClient'

/** Why the gates cannot be set like this. */
export function featureGateProblems(gates: FeatureGates): string[] {
  const problems: string[] = []
  for (const name of Object.keys(gates).sort()) {
    const known = knownGates.get(name)
    // As in Kubernetes: an unknown name means that the list was made for another program, so the rest is not checked.
    if (known === undefined) return [...problems, `unrecognized feature gate: ${name}`]
    if (known.isLocked && gates[name] !== known.isOnByDefault)
      problems.push(`cannot set feature gate ${name} to ${gates[name]}, feature is locked to ${known.isOnByDefault}`)
  }
  return problems
}

export function isGateOn(gates: FeatureGates, name: UsedGate): boolean {
  const known = knownGates.get(name)
  return gates[name] ?? groupSetting(gates, known) ?? known?.isOnByDefault ?? false
}

/** `AllAlpha` and `AllBeta` set every gate of their stage that is not named itself. */
function groupSetting(gates: FeatureGates, known: KnownGate | undefined): boolean | undefined {
  if (known?.isLocked === true) return undefined
  if (known?.stage === 'alpha') return gates['AllAlpha']
  return known?.stage === 'beta' ? gates['AllBeta'] : undefined
}
