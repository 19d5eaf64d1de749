import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { shownValue } from '../../net/shown-value.ts'

/** `namespace/name`, or `name`. Names have not been checked yet, so a value that is not a name is shown as it is. */
export function keyOfObject({ metadata }: JsonObject): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {}
  return namespace === undefined ? nameText(name) : `${nameText(namespace)}/${nameText(name)}`
}

function nameText(name: unknown): string {
  return typeof name === 'string' && name.length <= 253 ? name : shownValue(name)
}
