/** What is wrong, worst first, each with the way to its Service. */
import type { Problem } from '../../../src/observe/console/wire.ts'
import { ago, count } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'

interface ProblemsProps {
  readonly problems: readonly Problem[]
  /** How many Services have no endpoints, which may well be meant so. */
  readonly without: number
  readonly at: string
}

const words = { error: 'Error', warning: 'Warning', note: 'Note' } as const

export function Problems({ problems, without, at }: ProblemsProps) {
  return (
    <section class="card problems" aria-labelledby="problems-title">
      <h2 id="problems-title">{problems.length === 0 ? 'Problems' : count(problems.length, 'problem')}</h2>
      {problems.length === 0 ? (
        <p class="problems-none">
          <Icon name="good" />
          <span>
            None that this node knows of
            {without > 0 && (
              <>
                , besides <a href="/services?filter=no-endpoints">{count(without, 'Service')} without endpoints</a>
              </>
            )}
            .
          </span>
        </p>
      ) : (
        <ul tabIndex={0} aria-labelledby="problems-title">
          {problems.map((problem) => (
            <li key={`${problem.service ?? ''} ${problem.text}`} data-severity={problem.severity}>
              <Icon name={problem.severity} />
              <div>
                <p class="breaks">
                  <span class="visually-hidden">{words[problem.severity]}: </span>
                  {problem.service !== undefined && <ServiceLink service={problem.service} />}
                  {problem.text}
                </p>
                {problem.at !== undefined && <p class="quiet small">{ago(problem.at, Date.parse(at))}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function ServiceLink({ service }: { readonly service: string }) {
  return (
    <>
      <a href={`/services/${service.split('/').map(encodeURIComponent).join('/')}`}>
        <bdi>{service}</bdi>
      </a>
      :{' '}
    </>
  )
}
