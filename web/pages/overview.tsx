/** How the proxy does, at a glance. */
import { useEffect } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import type { Overview } from '../../src/observe/console/wire.ts'
import { follow } from '../live/live.ts'

export function OverviewPage() {
  const overview = useSignal<Overview | undefined>(undefined)
  useEffect(() => follow('overview', 'overview', (data) => (overview.value = data)), [overview])
  if (overview.value === undefined) return <p>Waiting for the first numbers.</p>
  const { counts } = overview.value
  return (
    <dl class="facts">
      <div>
        <dt>Services</dt>
        <dd>{counts.services}</dd>
      </div>
      <div>
        <dt>Endpoints</dt>
        <dd>{counts.endpoints}</dd>
      </div>
    </dl>
  )
}
