/** The programs that this kernel takes, chosen as the mode chooses them. */
import { mapSpecs } from '../../../src/backends/ebpf/layout.ts'
import { hasFeature, programsFor } from '../../../src/cli/modes/ebpf/features.ts'
import type { Bpf } from '../../../src/dataplane/ebpf/bpf.ts'
import { probeFeatures } from '../../../src/dataplane/ebpf/probes.ts'
import type { ProgramImage } from '../../../src/dataplane/ebpf/program-image.ts'
import { readObject } from '../../../src/dataplane/ebpf/read-object.ts'

interface ProgramsHere {
  readonly hooks: readonly ProgramImage[]
  readonly iterator: ProgramImage | undefined
  /** Whether they refuse a connection with a reason. */
  readonly refuse: boolean
}

export async function programsHere(bpf: Bpf, file: Uint8Array): Promise<ProgramsHere> {
  const object = readObject(file)
  const untried = () => Promise.reject(new Error('not asked for'))
  const answers = await probeFeatures(
    {
      bpf,
      cgroup: '',
      programs: object.programs,
      maps: mapSpecs,
      kernelRelease: '',
      ownNamespace: untried,
      tryDestroy: untried,
      makeFolder: untried,
    },
    new AbortController().signal,
  )
  return {
    hooks: programsFor(object, answers),
    iterator: hasFeature(answers, 'iterator')
      ? object.programs.find(({ attachType }) => attachType === 'iterator')
      : undefined,
    refuse: hasFeature(answers, 'refusals'),
  }
}

/** With those for old kernels in the place of the usual ones. */
export function oldHooks(file: Uint8Array): readonly ProgramImage[] {
  const { programs } = readObject(file)
  const sections = new Set(programs.map(({ section }) => section))
  return programs.filter(({ section, attachType }) => attachType !== 'iterator' && !sections.has(`${section}-old`))
}
