/** What happened, newest first. */
import type { DemoMoment } from '../../../src/observe/console/wire.ts'
import { timeOfDay } from '../../parts/format.ts'

const shown = 6

export function DemoStory({ story }: { readonly story: readonly DemoMoment[] }) {
  const newest = story.slice(-shown).reverse()
  return (
    <section class="card demo-story" aria-labelledby="demo-story">
      <h2 id="demo-story">What just happened</h2>
      {newest.length === 0 && <p class="quiet">Nothing yet. Press a button, or use kubectl: both show here.</p>}
      <ol aria-live="polite" aria-relevant="additions">
        {newest.map(({ at, text }) => (
          <li key={at + text}>
            <time dateTime={at}>{timeOfDay(at, true)}</time> {text}
          </li>
        ))}
      </ol>
    </section>
  )
}
