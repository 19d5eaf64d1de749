/** Whether the page is still heard, in words and by a dot. */
import { connection, connectNow, trouble } from '../live/live.ts'

const said = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Connection lost',
  resting: 'Resting',
  login: 'Not logged in',
} as const

export function Connection() {
  const state = connection.value
  return (
    <div class="connection" data-state={state}>
      <p role="status">
        <span class="dot" aria-hidden="true" />
        {said[state]}
        {state === 'lost' && <span class="connection-why">{trouble.value ?? 'trying again by itself'}</span>}
      </p>
      {state === 'lost' && (
        <button class="button" type="button" onClick={connectNow}>
          Try now
        </button>
      )}
    </div>
  )
}
