/** What a page asks for, once it is what it claims to be. */
import type { DemoAction } from '../../../observe/console/wire.ts'
import { DemoRefusal } from './demo-refusal.ts'

const kinds: readonly DemoAction['kind'][] = ['stop', 'start', 'drain', 'scale', 'affinity', 'api-server']
const switches: ReadonlySet<string> = new Set(['affinity', 'api-server'])

/** Throws a DemoRefusal. */
export function parseDemoAction(value: unknown): DemoAction {
  const asked = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  const kind = kinds.find((one) => one === asked['kind'])
  if (kind === undefined) throw new DemoRefusal(`"kind" must be one of ${kinds.join(', ')}`)
  const { to } = asked
  if (switches.has(kind) && to !== 'on' && to !== 'off') throw new DemoRefusal('"to" must be "on" or "off"')
  return {
    kind,
    ...(typeof asked['service'] === 'string' && { service: asked['service'] }),
    ...(typeof asked['replica'] === 'string' && { replica: asked['replica'] }),
    ...((typeof to === 'number' || to === 'on' || to === 'off') && { to }),
  }
}
