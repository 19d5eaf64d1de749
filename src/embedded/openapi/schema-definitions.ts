/**
 * OpenAPI definitions from our schemas. Versions 2 and 3 differ in how they refer to a definition, and in little else.
 */
import type { ListSchema, ObjectSchema, ScalarSchema, Schema } from '../resources/schema.ts'

export type OpenApi = Readonly<Record<string, unknown>>

export interface Dialect {
  /** `#/definitions/` or `#/components/schemas/`. */
  readonly prefix: string
  /** Version 3 gives a reference its own description and default by wrapping it. */
  readonly isWrapped: boolean
}

const scalars = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  'int-or-string': { $name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString' },
  time: { $name: 'io.k8s.apimachinery.pkg.apis.meta.v1.Time' },
  'micro-time': { $name: 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime' },
  quantity: { $name: 'io.k8s.apimachinery.pkg.api.resource.Quantity' },
  any: { $name: 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1' },
} as const

/** All definitions that the kinds need, by name. */
export function definitionsOf(kinds: readonly ObjectSchema[], dialect: Dialect): Record<string, OpenApi> {
  const objectsByName = new Map<string, ObjectSchema>()
  for (const kind of kinds) collect(kind, objectsByName)
  const entries = [...objectsByName].map(([name, schema]) => [name, definitionOf(schema, dialect)] as const)
  return Object.fromEntries([...entries, ...sharedScalars(dialect)].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function reference(name: string, dialect: Dialect): OpenApi {
  return { $ref: dialect.prefix + name }
}

function collect(schema: Schema, into: Map<string, ObjectSchema>): void {
  if (schema.type === 'list') collect(schema.items, into)
  else if (schema.type === 'map') collect(schema.values, into)
  else if (schema.type === 'object' && !into.has(schema.name)) {
    into.set(schema.name, schema)
    for (const field of Object.values(schema.fields)) collect(field, into)
  }
}

function definitionOf(schema: ObjectSchema, dialect: Dialect): OpenApi {
  const properties = Object.entries(schema.fields)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => [name, property(field, dialect)] as const)
  return {
    description: schema.description,
    type: 'object',
    ...(schema.required.length === 0 ? {} : { required: schema.required }),
    properties: Object.fromEntries(properties),
    ...(schema.isAtomic === undefined ? {} : { 'x-kubernetes-map-type': 'atomic' }),
    ...(schema.kind === undefined ? {} : { 'x-kubernetes-group-version-kind': [schema.kind] }),
  }
}

function property(schema: Schema, dialect: Dialect): OpenApi {
  switch (schema.type) {
    case 'object':
      return pointer(schema.name, schema.fieldDescription ?? schema.description, dialect)
    case 'map':
      return {
        description: schema.description,
        type: 'object',
        additionalProperties: element(schema.values, dialect),
        ...(schema.isAtomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
      }
    case 'list':
      return {
        description: schema.description,
        type: 'array',
        items: element(schema.items, dialect),
        ...listExtensions(schema),
      }
    case 'string':
    case 'integer':
    case 'boolean':
    case 'int-or-string':
    case 'time':
    case 'micro-time':
    case 'quantity':
    case 'any':
      return scalarProperty(schema, dialect)
    default:
      return schema satisfies never
  }
}

/** The items of a list or map have no description besides that of their type. */
function element(schema: Schema, dialect: Dialect): OpenApi {
  const { description: _description, ...rest } = property(schema, dialect)
  return rest
}

function scalarProperty(schema: ScalarSchema, dialect: Dialect): OpenApi {
  const scalar = scalars[schema.type]
  if ('$name' in scalar) return pointer(scalar.$name, schema.description, dialect)
  return {
    ...(schema.description === '' ? {} : { description: schema.description }),
    ...scalar,
    ...(schema.format === undefined ? {} : { format: schema.format }),
  }
}

function pointer(name: string, description: string, dialect: Dialect): OpenApi {
  const target = reference(name, dialect)
  return dialect.isWrapped ? { description, allOf: [target] } : { description, ...target }
}

function listExtensions({ apply, merge }: ListSchema): OpenApi {
  return {
    'x-kubernetes-list-type': apply.as,
    ...(apply.as === 'map' ? { 'x-kubernetes-list-map-keys': apply.keys } : {}),
    ...(merge === 'replace' ? {} : { 'x-kubernetes-patch-strategy': 'merge' }),
    ...(typeof merge === 'object' ? { 'x-kubernetes-patch-merge-key': merge.key } : {}),
  }
}

function sharedScalars({ isWrapped }: Dialect): [string, OpenApi][] {
  const either = isWrapped
    ? { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' }
    : { type: 'string', format: 'int-or-string' }
  return [
    [scalars['int-or-string'].$name, { description: 'A number or a name.', ...either }],
    [scalars.time.$name, { description: 'A time in RFC 3339, to the second.', type: 'string', format: 'date-time' }],
    [
      scalars['micro-time'].$name,
      { description: 'A time in RFC 3339, to the microsecond.', type: 'string', format: 'date-time' },
    ],
    [scalars.quantity.$name, { description: 'An amount, such as 100m or 4Gi.', type: 'string' }],
    [scalars.any.$name, { description: 'A set of fields, as a tree of path elements.', type: 'object' }],
  ]
}
