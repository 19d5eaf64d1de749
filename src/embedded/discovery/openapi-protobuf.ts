/**
 * The OpenAPI v2 document in protobuf. kubectl before 1.30 asks for it in no other form and cannot apply or create
 * without it. Message and field numbers are those of gnostic's OpenAPIv2.proto. Only what kubectl reads is written: the
 * definitions, and which query parameters an operation takes.
 */

/** What kubectl asks for. */
const askedType = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
/** The type of the answer must differ: an "@" is not allowed in a media type, and Go checks that. */
export const openApiProtobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

export function asksForProtobuf(mediaType: string | undefined): boolean {
  return mediaType === askedType || mediaType === openApiProtobufType
}

type Node = Readonly<Record<string, unknown>>

export function encodeOpenApiV2(document: object): Buffer {
  const { swagger, info, paths, definitions } = document as Node
  return message(
    text(1, swagger),
    embedded(2, message(text(1, (info as Node)['title']), text(2, (info as Node)['version']))),
    embedded(8, message(...named(2, paths, encodePath))),
    embedded(9, message(...named(1, definitions, encodeSchema))),
  )
}

const operationNumbers = { get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const

function encodePath(path: Node): Buffer {
  const operations = Object.entries(operationNumbers).map(([method, number]) =>
    path[method] === undefined ? nothing : embedded(number, encodeOperation(path[method] as Node)),
  )
  return message(...operations)
}

function encodeOperation(operation: Node): Buffer {
  const parameters = (operation['parameters'] ?? []) as readonly Node[]
  return message(
    text(3, operation['description']),
    ...texts(7, operation['consumes']),
    ...parameters
      .filter((parameter) => parameter['in'] === 'query')
      .map((parameter) => embedded(8, encodeQuery(parameter))),
    ...extensions(13, operation),
  )
}

/** ParametersItem { Parameter { NonBodyParameter { QueryParameterSubSchema } } } */
function encodeQuery(parameter: Node): Buffer {
  const query = message(
    text(2, 'query'),
    text(3, parameter['description']),
    text(4, parameter['name']),
    text(6, parameter['type']),
  )
  return embedded(1, embedded(2, embedded(3, query)))
}

function encodeSchema(schema: Node): Buffer {
  const { additionalProperties, items, properties } = schema
  return message(
    text(1, schema['$ref']),
    text(2, schema['format']),
    text(4, schema['description']),
    schema['default'] === undefined ? nothing : embedded(5, any(schema['default'])),
    ...texts(19, schema['required']),
    additionalProperties === undefined
      ? nothing
      : embedded(21, embedded(1, encodeSchema(additionalProperties as Node))),
    schema['type'] === undefined ? nothing : embedded(22, text(1, schema['type'])),
    items === undefined ? nothing : embedded(23, embedded(1, encodeSchema(items as Node))),
    properties === undefined ? nothing : embedded(25, message(...named(1, properties, encodeSchema))),
    ...extensions(31, schema),
  )
}

/** `x-…` fields, such as the group, version and kind of a definition. */
function extensions(number: number, node: Node): Buffer[] {
  return Object.entries(node)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => embedded(number, message(text(1, name), embedded(2, any(value)))))
}

/** Any value is sent as YAML, and JSON is YAML. */
function any(value: unknown): Buffer {
  return text(2, JSON.stringify(value))
}

function named(number: number, values: unknown, encode: (value: Node) => Buffer): Buffer[] {
  return Object.entries((values ?? {}) as Readonly<Record<string, Node>>).map(([name, value]) =>
    embedded(number, message(text(1, name), embedded(2, encode(value)))),
  )
}

const nothing = Buffer.alloc(0)

function message(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields)
}

function text(number: number, value: unknown): Buffer {
  return typeof value === 'string' && value !== '' ? embedded(number, Buffer.from(value)) : nothing
}

function texts(number: number, values: unknown): Buffer[] {
  return ((values ?? []) as readonly string[]).map((value) => text(number, value))
}

/** A field of bytes, text or another message: its number and type, its length, its content. */
function embedded(number: number, content: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest % 128) | 128)
  }
}
