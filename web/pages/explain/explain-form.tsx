/** A question about a connection. What the server cannot read, it says here. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Problem } from '../../parts/problem.tsx'
import { suggestionsFor } from './question.ts'
import type { Question } from './question.ts'
import { useServiceKeys } from './use-service-keys.ts'

interface ExplainFormProps {
  readonly question: Question
  readonly problem: string | undefined
  readonly onAsk: (question: Question) => void
}

export function ExplainForm({ question, problem, onAsk }: ExplainFormProps) {
  const typed = useSignal(question.target)
  const isLooking = useSignal(false)
  const services = useServiceKeys(isLooking.value)
  const target = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (question.target === '') target.current?.focus()
  }, [question.target])
  return (
    <form
      class="card explain-form"
      onSubmit={(event) => {
        event.preventDefault()
        const data = new FormData(event.currentTarget)
        const text = (name: string) => {
          const value = data.get(name)
          return typeof value === 'string' ? value.trim() : ''
        }
        onAsk({ target: text('target'), from: text('from'), namespace: text('namespace'), port: text('port') })
      }}
    >
      <Field name="target" label="To" hint="10.96.0.10:53/udp, service/NAME or node-port/30080">
        <input
          ref={target}
          class="field mono"
          id="target"
          name="target"
          required
          list="known-services"
          aria-describedby="target-hint"
          aria-invalid={problem !== undefined}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={typed.value}
          onFocus={() => (isLooking.value = true)}
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        />
        <datalist id="known-services">
          {suggestionsFor(typed.value, services).map((key) => (
            <option key={key} value={key} />
          ))}
        </datalist>
      </Field>
      <Field name="from" label="From" hint="outside, host, pod, or an IP address">
        <input
          class="field mono"
          id="from"
          name="from"
          list="known-sources"
          aria-describedby="from-hint"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          defaultValue={question.from}
        />
        <datalist id="known-sources">
          <option value="outside" />
          <option value="host" />
          <option value="pod" />
        </datalist>
      </Field>
      <Field name="namespace" label="Namespace" hint="of service/NAME; default if empty">
        <input
          class="field mono"
          id="namespace"
          name="namespace"
          aria-describedby="namespace-hint"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          defaultValue={question.namespace}
        />
      </Field>
      <Field name="port" label="Port" hint="of service/NAME; all if empty">
        <input
          class="field mono"
          id="port"
          name="port"
          aria-describedby="port-hint"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          defaultValue={question.port}
        />
      </Field>
      <button class="button primary" type="submit">
        Explain
      </button>
      {problem !== undefined && <Problem text={problem} />}
    </form>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly hint: string
  readonly children: ComponentChildren
}

function Field({ name, label, hint, children }: FieldProps) {
  return (
    <div class="explain-field" data-name={name}>
      <label for={name}>{label}</label>
      {children}
      <small id={`${name}-hint`} class="quiet">
        {hint}
      </small>
    </div>
  )
}
