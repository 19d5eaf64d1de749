/** `… to-local`: prints what the node has to program, and every change of it. */
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { endpointJson, serviceJson } from '../../kpng/client/go-json.ts'
import { Endpoint, Service, Set as Sets } from '../../kpng/proto/generated/localv1/api.ts'
import type { Program } from '../program.ts'

/** `+ path json` for what is set, `- path` for what is deleted, and a line when the state is complete. */
export function printChanges({ isReset, sets, deletes }: ChangeSet, program: Program): void {
  const lines: string[] = isReset ? ['< reset'] : []
  for (const { Ref: ref, Bytes } of sets) {
    if (ref?.Set === Sets.ServicesSet) lines.push(`+ ${ref.Path} ${JSON.stringify(serviceJson(Service.decode(Bytes)))}`)
    if (ref?.Set === Sets.EndpointsSet)
      lines.push(`+ ${ref.Path} ${JSON.stringify(endpointJson(Endpoint.decode(Bytes)))}`)
  }
  for (const { Path } of deletes) lines.push(`- ${Path}`)
  program.out([...lines, '> sync', ''].join('\n'))
}
