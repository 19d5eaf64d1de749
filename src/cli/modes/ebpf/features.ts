/** What this kernel can do for the ebpf mode: asked by the mode at its start, and by the doctor. */
import { mapSpecs } from '../../../backends/ebpf/layout.ts'
import type { Bpf } from '../../../dataplane/ebpf/bpf.ts'
import { probeFeatures } from '../../../dataplane/ebpf/probes.ts'
import type { FeatureAnswer, FeatureName } from '../../../dataplane/ebpf/probes.ts'
import type { BpfObject, ProgramImage } from '../../../dataplane/ebpf/program-image.ts'
import type { Sockets } from '../../../dataplane/sock-diag/sockets.ts'
import type { Host } from '../../host/host.ts'

export interface FeatureSubjects {
  readonly bpf: Bpf
  /** Undefined: there is none to try links in. */
  readonly cgroup: string | undefined
  readonly object: BpfObject
  readonly sockets: Sockets
  readonly host: Pick<Host, 'kernelRelease'>
}

export function askForFeatures(
  { bpf, cgroup, object, sockets, host }: FeatureSubjects,
  signal: AbortSignal,
): Promise<readonly FeatureAnswer[]> {
  return probeFeatures(
    {
      bpf,
      cgroup,
      programs: object.programs,
      maps: mapSpecs,
      kernelRelease: host.kernelRelease(),
      ownNamespace: () => sockets.ownNamespace(),
      tryDestroy: (trying) => sockets.tryDestroy(trying),
    },
    signal,
  )
}

/** Undefined: the kernel has all that is needed, as far as it could be tried. */
export function missingFeature(answers: readonly FeatureAnswer[]): string | undefined {
  const missing = answers.find(({ feature, answer }) => feature.isNeeded && answer === 'no')
  return whatIsNotAllowed(answers) ?? (missing && whatIsLacking(missing)) ?? whatFailed(answers)
}

function whatIsLacking({ feature: { title, since }, why }: FeatureAnswer): string {
  const otherModes = '--proxy-mode=nftables (Linux 5.13), or --proxy-mode=iptables'
  return `this kernel lacks ${title} (Linux ${since}): ${why}; use Linux 5.14 or newer that has it, or another mode: ${otherModes}`
}

/** A right that is missing hides what the kernel has, so it is told first. */
export function whatIsNotAllowed(answers: readonly FeatureAnswer[]): string | undefined {
  return answers.find(({ feature, answer }) => feature.isNeeded && answer === 'not allowed')?.why
}

/** Of what is needed: what went wrong when the kernel was asked. Another kernel would not help. */
function whatFailed(answers: readonly FeatureAnswer[]): string | undefined {
  return answers.find(({ feature, answer }) => feature.isNeeded && answer === 'failed')?.why
}

export function hasFeature(answers: readonly FeatureAnswer[], name: FeatureName): boolean {
  return answers.some(({ feature, answer }) => feature.name === name && answer === 'yes')
}

/** One for each hook that the kernel has, in the variant that it takes. */
export function programsFor({ programs }: BpfObject, answers: readonly FeatureAnswer[]): readonly ProgramImage[] {
  const isOld = ({ section }: ProgramImage) => section.endsWith('-old')
  const hasVariant = (image: ProgramImage) => programs.some(({ section }) => section === `${image.section}-old`)
  const refuses = hasFeature(answers, 'refusals')
  const namesPeers = hasFeature(answers, 'peer-names')
  return programs.filter((image) => {
    if (image.attachType === 'iterator') return false
    if (image.attachType.startsWith('getpeername')) return namesPeers
    return isOld(image) ? !refuses : refuses || !hasVariant(image)
  })
}
