/** The machines that packages are made for. The keys are Debian's words. */

export interface Architecture {
  /** As Node.js and npm call it. */
  readonly node: 'x64' | 'arm64'
  /** As RPM calls it. */
  readonly rpm: string
  /** The prefix of the compiler and its tools. */
  readonly tools: string
}

export const architectures = {
  amd64: { node: 'x64', rpm: 'x86_64', tools: 'x86_64-linux-gnu-' },
  arm64: { node: 'arm64', rpm: 'aarch64', tools: 'aarch64-linux-gnu-' },
} as const satisfies Readonly<Record<string, Architecture>>

export type ArchitectureName = keyof typeof architectures

export const architectureNames = Object.keys(architectures) as readonly ArchitectureName[]

/** `amd64,arm64` */
export function parseArchitectures(text: string): readonly ArchitectureName[] {
  return text.split(',').map((word) => {
    const name = architectureNames.find((known) => known === word)
    if (name === undefined) throw new Error(`"${word}" is no architecture: use ${architectureNames.join(' or ')}`)
    return name
  })
}

/** The one of this machine. */
export function architectureHere(): ArchitectureName {
  const name = architectureNames.find((known) => architectures[known].node === process.arch)
  if (name === undefined) throw new Error(`there are no packages for ${process.arch}: name one with --arch`)
  return name
}
