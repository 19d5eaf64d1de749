import { paths } from '../../../src/observe/console/wire.ts'
import type { DemoAction } from '../../../src/observe/console/wire.ts'

/** Returns why it could not be done. What it did shows in the stream. */
export async function act(action: DemoAction): Promise<string | undefined> {
  try {
    const answer = await fetch(paths.demo, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(action),
    })
    return answer.ok ? undefined : (await answer.text()).trim()
  } catch {
    return 'the demo does not answer'
  }
}
