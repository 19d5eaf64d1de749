/** What happened to a Service, newest first. */
import type { DemoMoment } from '../../../src/observe/console/wire.ts'
import { timeOfDay } from '../../parts/format.ts'

const shown = 4

export function DemoStory({ story, of }: { readonly story: readonly DemoMoment[]; readonly of: string }) {
  const newest = story
    .filter(({ service = of }) => service === of)
    .slice(-shown)
    .reverse()
  return (
    <div class="demo-story">
      <h3>What just happened</h3>
      {newest.length === 0 && (
        <p class="quiet small">Nothing yet. Press a button, or use kubectl in a shell: both show here.</p>
      )}
      <ol aria-live="polite" aria-relevant="additions">
        {newest.map(({ at, text }) => (
          <li key={at + text}>
            <time dateTime={at}>{timeOfDay(at)}</time> <span>{text}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
