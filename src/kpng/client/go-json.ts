/** Messages as JSON, as KPNG's own tools print it: empty values are left out, affinity is always there. */
import type { Endpoint, Service } from '../proto/generated/localv1/api.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

export function serviceJson({ SessionAffinity, ...service }: Service): Json {
  const affinity = SessionAffinity === undefined ? null : { ClientIP: { ...SessionAffinity.value } }
  return { ...withoutEmpty(service), SessionAffinity: affinity }
}

export function endpointJson(endpoint: Endpoint): Json {
  return withoutEmpty(endpoint)
}

/** An empty submessage stays as `{}`, because its presence has a meaning. */
function withoutEmpty(message: object): { readonly [key: string]: Json } {
  const kept: Record<string, Json> = {}
  for (const [name, value] of Object.entries(message) as [string, unknown][]) {
    if (value === undefined || value === '' || value === 0 || value === false) continue
    if (Array.isArray(value)) {
      if (value.length > 0) kept[name] = value.map((item: unknown) => itemJson(item))
    } else if (typeof value === 'object' && value !== null) {
      const inner = withoutEmpty(value)
      const isEmptyMap = (name === 'Labels' || name === 'Annotations') && Object.keys(value).length === 0
      if (!isEmptyMap) kept[name] = isMap(name) ? { ...(value as Record<string, string>) } : inner
    } else kept[name] = value as Json
  }
  return kept
}

function isMap(name: string): boolean {
  return name === 'Labels' || name === 'Annotations'
}

function itemJson(item: unknown): Json {
  return typeof item === 'object' && item !== null ? withoutEmpty(item) : (item as Json)
}
