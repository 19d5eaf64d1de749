/** `… to-local`: prints what the node has to program, and every change of it. */
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { endpointJson, serviceJson } from '../../kpng/client/go-json.ts'
import type { Json } from '../../kpng/client/go-json.ts'
import { Endpoint, Service, Set as Sets } from '../../kpng/proto/generated/localv1/api.ts'
import type { Program } from '../program.ts'

/** `+ path json` for what is set, `- path` for what is deleted, and a line when the state is complete. */
export function printChanges({ isReset, sets, deletes }: ChangeSet, program: Program): void {
  const lines: string[] = isReset ? ['< reset'] : []
  for (const { Ref: ref, Bytes } of sets) {
    if (ref?.Set === Sets.ServicesSet) lines.push(setLine(ref.Path, serviceJson(Service.decode(Bytes))))
    if (ref?.Set === Sets.EndpointsSet) lines.push(setLine(ref.Path, endpointJson(Endpoint.decode(Bytes))))
  }
  for (const { Path } of deletes) lines.push(`- ${visible(Path)}`)
  program.out([...lines, '> sync', ''].join('\n'))
}

function setLine(path: string, value: Json): string {
  return `+ ${visible(path)} ${visible(JSON.stringify(value))}`
}

/** Escapes control characters: text from a server must neither steer the terminal nor look like several lines. */
function visible(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
