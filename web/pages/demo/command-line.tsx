/** What a button does, and the line for a shell that does the same. */
import type { DemoButton } from '../../../src/observe/console/wire.ts'
import { CopyButton } from '../../parts/copy-button.tsx'

export function CommandLine({ button }: { readonly button: DemoButton }) {
  const { kubectl, about } = button
  return (
    <div class="demo-command">
      <p>{about}</p>
      {kubectl === undefined ? (
        <p class="quiet small">kubectl has nothing for this.</p>
      ) : (
        <div class="demo-shell">
          <code>{kubectl}</code>
          <CopyButton text={kubectl} what="the kubectl line" />
        </div>
      )}
    </div>
  )
}
