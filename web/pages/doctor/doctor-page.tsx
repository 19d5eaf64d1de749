/** What `fairlead doctor` finds on this node: worst first, each with what was seen and what to do. */
import { useEffect, useRef } from 'preact/hooks'
import type { Finding, Severity } from '../../../src/cli/doctor/finding.ts'
import { askJson, useAsked } from '../../live/ask.ts'
import { ago, count, duration } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { Problem } from '../../parts/problem.tsx'
import { groupsOf } from './groups.ts'
import './doctor.css'

/** Of `/debug/doctor`. */
interface DoctorAnswer {
  readonly isUnderWay: boolean
  readonly examinedAt?: string
  readonly tookMs?: number
  readonly problem?: string
  readonly restMs: number
  readonly checks?: readonly string[]
  readonly findings?: readonly Finding[]
}

const askAgainMs = 1_000

export function DoctorPage() {
  const wantsAgain = useRef(false)
  const { answer, isUnderWay, again } = useAsked('doctor', (signal) => {
    const isAgain = wantsAgain.current
    wantsAgain.current = false
    return askJson<DoctorAnswer>('doctor', { again: isAgain ? '1' : undefined }, signal)
  })
  const known = answer?.ok === true ? answer.value : undefined
  const isExamining = isUnderWay || known?.isUnderWay === true
  useEffect(() => {
    if (known?.isUnderWay !== true) return undefined
    const timer = setTimeout(again, askAgainMs)
    return () => clearTimeout(timer)
  }, [known, again])
  return (
    <>
      <p class="quiet">Looks for what keeps Services from working on this node. It only reads.</p>
      <div class="bar">
        <p role="status">{isExamining ? 'Examining this node.' : known && verdictOf(known)}</p>
        <span class="bar-end">
          <button
            class="button"
            type="button"
            disabled={isExamining}
            onClick={() => {
              wantsAgain.current = true
              again()
            }}
          >
            Examine again
          </button>
        </span>
      </div>
      {answer?.ok === false && <Problem text={answer.problem} />}
      {known?.problem !== undefined && <Problem text={known.problem} />}
      {known?.findings !== undefined && <Findings findings={known.findings} />}
      {known?.checks !== undefined && (
        <details class="small">
          <summary>{count(known.checks.length, 'check')} ran</summary>
          <p class="quiet">{known.checks.join(', ')}</p>
        </details>
      )}
    </>
  )
}

function verdictOf({ findings = [], examinedAt, tookMs = 0, restMs }: DoctorAnswer): string {
  if (examinedAt === undefined) return 'Not examined yet.'
  const found = findings.length === 0 ? 'Nothing found' : count(findings.length, 'finding')
  const rest = restMs > 0 ? ` Another examination can begin in ${duration(restMs)}.` : ''
  return `${found}, examined ${ago(examinedAt, Date.now())} in ${duration(tookMs)}.${rest}`
}

const titles: Readonly<Record<Severity, string>> = { error: 'Errors', warning: 'Warnings', note: 'Notes' }
const meanings: Readonly<Record<Severity, string>> = {
  error: 'Traffic is lost, or will be.',
  warning: 'Some of it may be lost.',
  note: 'Worth knowing.',
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0)
    return (
      <p class="card healthy">
        <Icon name="good" /> Nothing is wrong with this node, as far as it could be seen.
      </p>
    )
  return (
    <>
      {groupsOf(findings).map(({ severity, findings: own }) => (
        <section key={severity} class="findings" data-severity={severity} aria-labelledby={`findings-${severity}`}>
          <h2 id={`findings-${severity}`}>
            <Icon name={severity} /> {titles[severity]} <small class="quiet">{own.length}</small>
          </h2>
          <p class="quiet small">{meanings[severity]}</p>
          {own.map((finding, index) => (
            <Card key={index} finding={finding} />
          ))}
        </section>
      ))}
    </>
  )
}

function Card({ finding: { name, check, what, evidence, fix } }: { readonly finding: Finding }) {
  return (
    <article class="card finding">
      <h3>{what}</h3>
      <dl>
        <dt>Seen</dt>
        <dd>
          <code>{evidence}</code>
        </dd>
        <dt>Fix</dt>
        <dd>{fix}</dd>
      </dl>
      <p class="quiet small">
        <code>{name}</code>, by check {check}
      </p>
    </article>
  )
}
