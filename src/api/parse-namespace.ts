/** The annotations by which an administrator says how the addresses of one namespace are guarded. */
import { parseCidr } from '../net/ip.ts'
import type { Cidr } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { oneOf } from './field-checks.ts'
import type { Identified } from './identified.ts'
import type { JsonObject, JsonReader } from './json-reader.ts'
import { guardModes } from './records.ts'
import type { NamespaceRecord } from './records.ts'

export const guardAnnotations = {
  externalIPGuard: 'fairlead.dev/external-ip-guard',
  externalIPCidrs: 'fairlead.dev/external-ip-cidrs',
} as const

export function parseNamespace({ metadata, name, read }: Identified): NamespaceRecord {
  const annotations = read.object(metadata, 'annotations', 'metadata.annotations')
  return { kind: 'Namespace', name, ...guardOf(annotations, read), ...rangesOf(annotations, read) }
}

function guardOf(annotations: JsonObject, read: JsonReader): Pick<NamespaceRecord, 'externalIPGuard'> {
  const field = fieldOf(guardAnnotations.externalIPGuard)
  const text = read.string(annotations, guardAnnotations.externalIPGuard, field).trim()
  const externalIPGuard = text === '' ? undefined : oneOf(text, guardModes, field, read)
  return externalIPGuard === undefined ? {} : { externalIPGuard }
}

/**
 * A range that cannot be read allows nothing, as with source ranges: a typing error must not open what somebody meant to
 * close.
 */
function rangesOf(annotations: JsonObject, read: JsonReader): Pick<NamespaceRecord, 'externalIPCidrs'> {
  const field = fieldOf(guardAnnotations.externalIPCidrs)
  const text = read.string(annotations, guardAnnotations.externalIPCidrs, field).trim()
  if (text === '') return {}
  if (text === 'none') return { externalIPCidrs: [] }
  const externalIPCidrs = text.split(',').flatMap((part): readonly Cidr[] => {
    const cidr = parseCidr(part.trim())
    if (cidr !== undefined) return [cidr]
    read.problem(
      field,
      `${shownValue(part.trim())} is not a CIDR and allows nothing; write ranges such as 192.0.2.0/24, or none`,
    )
    return []
  })
  return { externalIPCidrs }
}

function fieldOf(annotation: string): string {
  return `metadata.annotations[${annotation}]`
}
