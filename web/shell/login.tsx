/** Asks for the token, in place of the page that the reader wants to see: its address stays. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { paths } from '../../src/observe/console/wire.ts'
import { connectNow } from '../live/live.ts'

export function Login() {
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    problem.value = await logIn(field.current?.value ?? '')
    isBusy.value = false
    if (problem.value === undefined) connectNow()
    else field.current?.select()
  }
  return (
    <form class="login card" onSubmit={(event) => void submit(event)}>
      <p>This console wants to know that you may read it. The token is in the file of --console-token-file.</p>
      <label for="token">Token</label>
      <input
        id="token"
        ref={field}
        class="field"
        type="password"
        name="token"
        autoComplete="current-password"
        required
        aria-describedby="login-problem"
        aria-invalid={problem.value !== undefined}
      />
      <p id="login-problem" class="login-problem" role="alert">
        {problem.value}
      </p>
      <button class="button primary" type="submit" disabled={isBusy.value}>
        Log in
      </button>
    </form>
  )
}

/** Why not, as a sentence. */
async function logIn(token: string): Promise<string | undefined> {
  try {
    const answer = await fetch(paths.login, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token }),
    })
    if (answer.ok) return undefined
    if (answer.status === 401) return 'This is not the token.'
    return (await answer.text()).trim() || `The server refuses this (${answer.status}).`
  } catch {
    return 'The server does not answer. Is Fairlead running?'
  }
}
