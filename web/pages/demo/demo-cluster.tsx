/** The API server: where Services and endpoints are written, and what happens without it. */
import { useSignal } from '@preact/signals'
import type { DemoState, Overview } from '../../../src/observe/console/wire.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ActionButton } from './action-button.tsx'

export interface DemoClusterProps {
  readonly state: DemoState
  readonly source: Overview['source'] | undefined
}

export function DemoCluster({ state, source }: DemoClusterProps) {
  const problem = useSignal<string | undefined>(undefined)
  const { isApiServerUp, apiServer, kubeconfig } = state
  const line = `export KUBECONFIG=${kubeconfig}`
  return (
    <section class="demo-cluster" aria-labelledby="demo-cluster" data-up={isApiServerUp}>
      <div>
        <h2 id="demo-cluster">The API server knows which Services and endpoints there are</h2>
        <p class="demo-contact" role="status">
          <Icon name={isApiServerUp ? 'good' : 'warning'} />
          <span>
            {isApiServerUp ? 'It runs.' : 'It is gone.'} {contactWords(isApiServerUp, source)}
          </span>
        </p>
        <div class="demo-buttons">
          <ActionButton button={apiServer} onPoint={() => {}} onProblem={(text) => (problem.value = text)} />
          <span class="small quiet">{apiServer.about}</span>
        </div>
        {problem.value !== undefined && (
          <p class="demo-problem" role="alert">
            {problem.value}
          </p>
        )}
      </div>
      <div>
        <p class="small quiet">
          Every other button writes objects there. In a shell kubectl does the same, and this page follows:
        </p>
        <div class="demo-shell">
          <code>{line}</code>
          <CopyButton text={line} what="the line for a shell" />
        </div>
      </div>
    </section>
  )
}

function contactWords(isUp: boolean, source: Overview['source'] | undefined): string {
  if (source === undefined) return ''
  if (source.state === 'lost') return 'The proxy has lost contact, and goes on with what it knows.'
  return isUp ? 'The proxy hears of every change at once.' : 'The proxy will notice in a moment.'
}
