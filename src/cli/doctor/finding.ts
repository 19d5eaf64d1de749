/** What `fairlead doctor` says about a node. */

/** Worst first. `error`: traffic is or will be lost. `warning`: some of it may be. `note`: worth knowing. */
export const severities = ['error', 'warning', 'note'] as const

export type Severity = (typeof severities)[number]

export interface Finding {
  /** Never changes: scripts and docs/doctor.md go by it. */
  readonly name: string
  readonly severity: Severity
  /** The check that found it. */
  readonly check: string
  /** One sentence. */
  readonly what: string
  /** The exact thing that was seen. */
  readonly evidence: string
  /** What to do, with a command where there is one. */
  readonly fix: string
}

/** A line of docs/doctor.md. */
export interface FindingKind {
  readonly severity: Severity
  readonly meaning: string
  /** In general; a finding may say it more exactly. */
  readonly fix: string
}

/** A check that could not look must not be taken for a healthy node. */
export const notChecked = {
  name: 'not-checked',
  severity: 'warning',
  meaning: 'A check could not look: a right, a tool or an answer is missing. It says neither healthy nor ill.',
  fix: 'Give it what the evidence names: mostly root, or the same flags as the daemon.',
} as const satisfies FindingKind & { readonly name: string }
