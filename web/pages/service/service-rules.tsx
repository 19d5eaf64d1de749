/** What the running mode has for a Service, piece by piece, and on request whether it is there. */
import { useSignal } from '@preact/signals'
import type { InspectedPiece } from '../../../src/core/inspection.ts'
import type { Family } from '../../../src/net/ip.ts'
import { about } from '../../live/live.ts'
import { askJson, useAsked } from '../../live/ask.ts'
import { CodeLine } from '../../parts/code/code-line.tsx'
import { count } from '../../parts/format.ts'
import { Problem } from '../../parts/problem.tsx'

type Piece = Omit<InspectedPiece, 'state'> & { readonly state?: InspectedPiece['state'] }

interface RulesAnswer {
  readonly routes: readonly {
    readonly route: string
    readonly family: Family
    readonly pieces: readonly Piece[]
    readonly notRead?: string
  }[]
}

interface ServiceRulesProps {
  readonly service: string
  readonly route: string | undefined
  readonly family: Family | undefined
}

export function ServiceRules({ service, route, family }: ServiceRulesProps) {
  const isCompared = useSignal(false)
  const { answer, isUnderWay, again } = useAsked(`${service} ${isCompared.value}`, (signal) =>
    askJson<RulesAnswer>('rules', { service, actual: isCompared.value ? '1' : undefined }, signal),
  )
  const own =
    answer?.ok === true ? answer.value.routes.find((one) => one.route === route && one.family === family) : undefined
  return (
    <section class="card service-rules" aria-labelledby="rules-of">
      <h2 id="rules-of">
        Rules{about.value?.mode === undefined ? '' : ` (${about.value.mode})`}{' '}
        {own !== undefined && <small class="quiet">{count(own.pieces.length, 'piece')}</small>}
      </h2>
      {answer === undefined && <p class="quiet">Reading.</p>}
      {answer?.ok === false && <Problem text={answer.problem} />}
      {answer?.ok === true && own === undefined && <p>Nothing is programmed for this port.</p>}
      {own?.notRead !== undefined && <p class="quiet">Not all was read: {own.notRead}</p>}
      {own !== undefined && <Pieces pieces={own.pieces} />}
      <p class="bar small">
        <button
          class="button"
          type="button"
          disabled={isUnderWay}
          onClick={() => (isCompared.value ? again() : (isCompared.value = true))}
        >
          Compare with what is there
        </button>
        <a href="/rules">All rules of this node</a>
      </p>
    </section>
  )
}

/** More are on the page of all rules. */
const mostShown = 300

function Pieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  const hasStates = pieces.some(({ state }) => state !== undefined)
  const wrong = pieces.filter(({ state }) => state !== undefined && state !== 'as planned' && state !== 'not read')
  return (
    <>
      {hasStates && (
        <p role="status">
          {wrong.length === 0
            ? 'All that could be read is there as planned.'
            : `${count(wrong.length, 'piece')} not as planned.`}
        </p>
      )}
      <div class="scroll-x" role="region" aria-label="Rules of this port" tabIndex={0}>
        <table class="as-cards pieces">
          <thead>
            <tr>
              <th scope="col">Kind</th>
              <th scope="col">Where</th>
              <th scope="col">Text</th>
              {hasStates && <th scope="col">There</th>}
            </tr>
          </thead>
          <tbody>
            {pieces.slice(0, mostShown).map(({ kind, where, text, state, found }, index) => (
              <tr key={index} data-state={state}>
                <td data-label="Kind">{kind}</td>
                <td data-label="Where">{where}</td>
                <td>
                  <code>
                    <CodeLine text={text} />
                  </code>
                  {found !== undefined && (
                    <div class="found">
                      found <code>{found}</code>
                    </div>
                  )}
                </td>
                {hasStates && <td data-label="There">{state}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pieces.length > mostShown && <p class="quiet">and {count(pieces.length - mostShown, 'more piece')}</p>}
    </>
  )
}
