/** From objects in files to what a mode would program for them on one node. */
import type { NodeView } from '../core/backend.ts'
import type { Family } from '../net/ip.ts'
import type { RenderSettings } from './modes/mode.ts'
import { readObjectsOnNode } from './offline/objects-on-node.ts'
import type { NodeRequest, OfflineTools } from './offline/objects-on-node.ts'
import { CommandError } from './program.ts'

export interface RenderRequest extends NodeRequest {
  readonly objects: readonly string[]
  readonly families: readonly Family[]
  /** Empty: all parts. */
  readonly part: string
}

export interface RenderTools extends OfflineTools {
  /** Told before each family. */
  readonly onFamily: (family: Family) => void
}

export interface Section {
  readonly title: string
  readonly text: string
  /** Commands to run before the text can be loaded. */
  readonly needs: readonly string[]
}

export async function renderObjects(request: RenderRequest, tools: RenderTools): Promise<readonly Section[]> {
  const node = await readObjectsOnNode(request.objects, request, tools)
  return request.families.flatMap((family) => {
    tools.onFamily(family)
    return sectionsOf(node.routes(family).view, request, node.settings)
  })
}

function sectionsOf(
  view: NodeView,
  { mode, part: wanted }: RenderRequest,
  settings: RenderSettings,
): readonly Section[] {
  const parts = mode.render(view, settings)
  const chosen = parts.filter(({ part }) => wanted === '' || part === wanted)
  // A mode may have nothing for a family.
  if (chosen.length === 0 && parts.length > 0) {
    const known = parts.map(({ part }) => part).join(', ')
    throw new CommandError(`mode ${mode.name} has no part "${wanted}": choose --part from ${known}`)
  }
  return chosen.map(({ part, text, needs = [] }) => ({ title: `${view.family}, part ${part}`, text, needs }))
}
