/** `… to-local`: prints what the node has to program, and every change of it. */
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { endpointJson, serviceJson } from '../../kpng/client/go-json.ts'
import type { Json } from '../../kpng/client/go-json.ts'
import { Endpoint, Service, Set as Sets } from '../../kpng/proto/generated/localv1/api.ts'
import type { Program } from '../program.ts'
import { visibleInOneLine } from '../visible.ts'

/** `+ path json` for what is set, `- path` for what is deleted, and a line when the state is complete. */
export function printChanges({ isReset, sets, deletes }: ChangeSet, program: Program): void {
  const lines: string[] = isReset ? ['< reset'] : []
  for (const { Ref: ref, Bytes } of sets) {
    if (ref?.Set === Sets.ServicesSet) lines.push(setLine(ref.Path, serviceJson(Service.decode(Bytes))))
    if (ref?.Set === Sets.EndpointsSet) lines.push(setLine(ref.Path, endpointJson(Endpoint.decode(Bytes))))
  }
  for (const { Path } of deletes) lines.push(`- ${visibleInOneLine(Path)}`)
  program.out([...lines, '> sync', ''].join('\n'))
}

function setLine(path: string, value: Json): string {
  return `+ ${visibleInOneLine(path)} ${visibleInOneLine(JSON.stringify(value))}`
}
