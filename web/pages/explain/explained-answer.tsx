/** An answer: the verdict, the steps that led to it, and the very text that the command prints. */
import { useSignal } from '@preact/signals'
import type { ToldAnswer, ToldExplanation } from '../../../src/observe/console/wire.ts'
import { Icon } from '../../parts/icon.tsx'
import { commandFor, linkTo } from './question.ts'
import type { Question } from './question.ts'

interface ExplainedAnswerProps {
  readonly question: Question
  readonly answer: ToldAnswer
}

export function ExplainedAnswer({ question, answer }: ExplainedAnswerProps) {
  const { told, explanations, verdicts, text } = answer
  const isAnswered = explanations.some(({ verdict }) => verdict.kind === 'forward')
  return (
    <div class="explained">
      {told === undefined ? (
        <Several {...answer} />
      ) : (
        <article class="card" aria-labelledby="verdict">
          <p class="quiet breaks">{told.title}</p>
          <h2 id="verdict" class="verdict" data-tone={isAnswered ? 'good' : 'bad'}>
            <Icon name={isAnswered ? 'good' : 'error'} />
            {told.verdict}
          </h2>
          {told.doubt !== undefined && <p class="doubt">{told.doubt}</p>}
          <Steps steps={told.steps} />
          {explanations.length > 1 && (
            <p class="quiet small">
              {verdicts.length} ways lead to this port. This is about the one that such a client takes.
            </p>
          )}
        </article>
      )}
      <AsText command={commandFor(question)} text={text} />
    </div>
  )
}

function Steps({ steps }: Pick<ToldExplanation, 'steps'>) {
  return (
    <ol class="steps">
      {steps.map(({ says, lists }) => (
        <li key={says}>
          {says}
          {lists !== undefined && (
            <div class="scroll-x" role="region" aria-label={says} tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    {lists.header.map((title) => (
                      <th key={title} scope="col">
                        {title.charAt(0) + title.slice(1).toLowerCase()}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {lists.rows.map((row) => (
                    <tr key={row.join()}>
                      {row.map((cell, index) => (
                        <td key={index} class={index === 0 ? 'mono' : undefined}>
                          {cell}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </li>
      ))}
    </ol>
  )
}

/** A Service with several ports, or of both families: what becomes of each, with a question about it. */
function Several({ explanations, verdicts }: ToldAnswer) {
  return (
    <section class="card" aria-labelledby="several">
      <h2 id="several">{explanations.length} ways in</h2>
      <table class="as-cards">
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">Port</th>
            <th scope="col">From</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {explanations.map(({ destination: { ip, port, protocol }, source, service }, index) => {
            const address = ip === undefined ? `node-port/${port}` : `${ip.includes(':') ? `[${ip}]` : ip}:${port}`
            const target = `${address}/${protocol.toLowerCase()}`
            const from = source.ip ?? askableFrom[source.place] ?? ''
            return (
              <tr key={index}>
                <th scope="row">
                  <a class="mono" href={linkTo({ target, from })}>
                    {target}
                  </a>
                </th>
                <td data-label="Port">{service === undefined ? '–' : service.portName || service.port}</td>
                <td data-label="From">{source.ip ?? source.place}</td>
                <td data-label="Result">{verdicts[index]}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

const askableFrom: Readonly<Record<string, string>> = {
  'pod on this node': 'pod',
  'this node': 'host',
  outside: 'outside',
}

function AsText({ command, text }: { readonly command: string; readonly text: string }) {
  const copied = useSignal('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      copied.value = 'Copied.'
    } catch {
      copied.value = 'The browser does not allow it: select the text.'
    }
  }
  return (
    <section class="card" aria-labelledby="as-text">
      <h2 id="as-text">As the command prints it</h2>
      <p class="bar">
        <code class="breaks">{command}</code>
        <span class="bar-end">
          <span role="status" class="quiet small">
            {copied.value}
          </span>
          <button class="button" type="button" onClick={() => void copy()}>
            Copy
          </button>
        </span>
      </p>
      <pre class="explain-text" role="region" aria-label="Text of the answer" tabIndex={0}>
        {text}
      </pre>
    </section>
  )
}
