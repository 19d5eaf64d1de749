/** A check is data: what it needs to see, what it can find, and a pure function from the one to the other. */
import type { Evidence, EvidenceName } from './evidence.ts'
import type { Finding, FindingKind } from './finding.ts'
import type { Setup } from './setup.ts'

export interface Check {
  readonly name: string
  /** For people: what is looked at. */
  readonly title: string
  readonly systems: readonly NodeJS.Platform[]
  /** It means something before the proxy has run. */
  readonly isBeforeStart: boolean
  readonly needs: readonly EvidenceName[]
  readonly finds: Readonly<Record<string, FindingKind>>
  /** Whether this node, in its mode, is concerned at all. */
  concerns(setup: Setup): boolean
  run(setup: Setup, evidence: Evidence): readonly Finding[]
}

/** Makes a finding; without `fix` the one of its kind. */
type Find<Name extends string> = (
  name: Name,
  seen: { readonly what: string; readonly evidence: string; readonly fix?: string },
) => Finding

interface CheckOptions<Need extends EvidenceName, Name extends string> {
  readonly name: string
  readonly title: string
  readonly systems?: readonly NodeJS.Platform[]
  readonly isBeforeStart?: boolean
  readonly needs: readonly Need[]
  readonly finds: Readonly<Record<Name, FindingKind>>
  readonly concerns?: (setup: Setup) => boolean
  readonly run: (setup: Setup, evidence: Pick<Evidence, Need>, find: Find<Name>) => Iterable<Finding>
}

const linuxOnly: readonly NodeJS.Platform[] = ['linux']

export function check<const Need extends EvidenceName, const Name extends string>({
  run,
  ...options
}: CheckOptions<Need, Name>): Check {
  const { name, finds } = options
  const find: Find<Name> = (kind, { what, evidence, fix }) => ({
    name: kind,
    severity: finds[kind].severity,
    check: name,
    what,
    evidence,
    fix: fix ?? finds[kind].fix,
  })
  return {
    systems: linuxOnly,
    isBeforeStart: true,
    concerns: () => true,
    ...options,
    run: (setup, evidence) => [...run(setup, evidence, find)],
  }
}
