/** Runs the checks that concern this node, each with the evidence it needs. */
import { setMaxListeners } from 'node:events'
import type { Check } from './check.ts'
import { CannotLook } from './evidence.ts'
import type { Evidence, EvidenceName, EvidenceReaders } from './evidence.ts'
import { notChecked, severities } from './finding.ts'
import type { Finding } from './finding.ts'
import type { Setup } from './setup.ts'

export interface Examination {
  /** The names of the checks that ran, also those that could not look. */
  readonly checks: readonly string[]
  /** Worst first. */
  readonly findings: readonly Finding[]
}

export async function examine(
  checks: readonly Check[],
  setup: Setup,
  readers: EvidenceReaders,
  signal: AbortSignal,
): Promise<Examination> {
  const read = reading(readers, signal)
  const concerned = checks.filter(
    (check) =>
      check.systems.includes(setup.platform) && (check.isBeforeStart || !setup.isBeforeStart) && check.concerns(setup),
  )
  const found = await Promise.all(concerned.map((check) => runCheck(check, setup, read)))
  signal.throwIfAborted()
  const all = withoutRepeats(found.flat())
  return {
    checks: concerned.map(({ name }) => name),
    findings: severities.flatMap((severity) => all.filter((finding) => finding.severity === severity)),
  }
}

type Read = <Name extends EvidenceName>(name: Name) => Promise<Evidence[Name]>

/** Each is read once, however many checks need it. */
function reading(readers: EvidenceReaders, signal: AbortSignal): Read {
  const readByName = new Map<EvidenceName, Promise<unknown>>()
  return read
  function read<Name extends EvidenceName>(name: Name): Promise<Evidence[Name]> {
    const known = readByName.get(name) ?? readers[name](read, bounded(signal))
    readByName.set(name, known)
    return known as Promise<Evidence[Name]>
  }
}

/** One of its own for each reader: hundreds of programs listen to it. */
function bounded(signal: AbortSignal): AbortSignal {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  // Or Node takes the eleventh for a leak, and says so in the log.
  setMaxListeners(0, patience)
  return patience
}

/** The longest: a list of 50,000 Services over a slow link. */
const patienceMs = 90_000

async function runCheck(check: Check, setup: Setup, read: Read): Promise<readonly Finding[]> {
  const entries = await Promise.all(
    check.needs.map(async (name): Promise<readonly [EvidenceName, unknown]> => {
      try {
        return [name, await read(name)]
      } catch (error) {
        return [name, asCannotLook(error)]
      }
    }),
  )
  const [obstacle] = entries.flatMap(([, value]) => (value instanceof CannotLook ? [value] : []))
  if (obstacle !== undefined) return [couldNotLook(check, obstacle)]
  return check.run(setup, Object.fromEntries(entries) as unknown as Evidence)
}

function asCannotLook(error: unknown): CannotLook {
  if (error instanceof CannotLook) return error
  if (error instanceof Error && error.name === 'TimeoutError')
    return new CannotLook(`no answer within ${patienceMs / 1000} s`, undefined, { cause: error })
  return new CannotLook(error instanceof Error ? error.message : String(error), undefined, { cause: error })
}

function couldNotLook({ name, title }: Check, { message, fix }: CannotLook): Finding {
  const { severity } = notChecked
  return {
    name: notChecked.name,
    severity,
    check: name,
    what: `Not checked: ${title}.`,
    evidence: message,
    fix: fix ?? notChecked.fix,
  }
}

/** Two checks may see the same thing. */
function withoutRepeats(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>()
  return findings.filter((finding) => {
    const key = JSON.stringify([finding.name, finding.what, finding.evidence])
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
