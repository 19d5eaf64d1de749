/** What becomes of a connection, and why. The question is the address of the page, so that it can be shared. */
import type { ToldAnswer } from '../../../src/observe/console/wire.ts'
import { askJson, useAsked } from '../../live/ask.ts'
import { Empty } from '../../parts/empty.tsx'
import { go, location } from '../../shell/route.ts'
import { ExplainForm } from './explain-form.tsx'
import { ExplainedAnswer } from './explained-answer.tsx'
import { linkTo, questionIn } from './question.ts'
import './explain.css'

export function ExplainPage() {
  const question = questionIn(location.value.searchParams)
  const link = linkTo(question)
  const { answer, isUnderWay, again } = useAsked(question.target === '' ? undefined : link, (signal) =>
    askJson<ToldAnswer>('explain', { ...question, output: 'told' }, signal),
  )
  return (
    <>
      <p class="quiet">
        Says what this node does with a connection to a Service: by which address, by which policy, to which endpoint.
      </p>
      <ExplainForm
        key={link}
        question={question}
        problem={answer?.ok === false ? answer.problem : undefined}
        onAsk={(asked) => (linkTo(asked) === link ? again() : go(linkTo(asked)))}
      />
      <div aria-live="polite" aria-busy={isUnderWay}>
        {question.target === '' && (
          <Empty icon="explain">
            <p>Type an address or the name of a Service, and who asks.</p>
            <p>
              Or open one of the <a href="/services">Services</a>: its page asks for you.
            </p>
          </Empty>
        )}
        {question.target !== '' && answer === undefined && <p class="quiet">Asking.</p>}
        {answer?.ok === true && <ExplainedAnswer question={question} answer={answer.value} />}
      </div>
    </>
  )
}
