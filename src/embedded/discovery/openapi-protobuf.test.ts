import { expect, test } from 'vitest'
import { encodeOpenApiV2 } from './openapi-protobuf.ts'
import { openApiV2 } from '../openapi/documents.ts'
import { readFields } from '../resources/protobuf-wire.ts'

/** The contents of a message's fields with this number. */
function fieldsOf(message: Uint8Array, number: number): Uint8Array[] {
  return [...readFields(message)].flatMap(([found, field]) =>
    found === number && field.type === 'bytes' ? [field.value] : [],
  )
}

function textOf(message: Uint8Array | undefined, number: number): string {
  return Buffer.concat(message === undefined ? [] : fieldsOf(message, number)).toString()
}

/** Goes down through the first field of each number. */
function into(message: Uint8Array, ...numbers: number[]): Uint8Array {
  return numbers.reduce((at, number) => fieldsOf(at, number)[0] ?? new Uint8Array(), message)
}

const document = encodeOpenApiV2(openApiV2())

test('the document holds all definitions, each with its properties and its kind', () => {
  const definitions = fieldsOf(into(document, 9), 1)
  expect(definitions.map((named) => textOf(named, 1))).toEqual(Object.keys(openApiV2()['definitions'] as object))
  const service = definitions.find((named) => textOf(named, 1) === 'io.k8s.api.core.v1.Service')
  const schema = into(service ?? new Uint8Array(), 2)
  expect(textOf(into(schema, 22), 1)).toBe('object')
  expect(fieldsOf(into(schema, 25), 1).map((property) => textOf(property, 1))).toContain('spec')
  const extension = fieldsOf(schema, 31).find((named) => textOf(named, 1) === 'x-kubernetes-group-version-kind')
  expect(JSON.parse(textOf(into(extension ?? new Uint8Array(), 2), 2))).toEqual([
    { group: '', version: 'v1', kind: 'Service' },
  ])
})

test('the patch operation of a kind says that it takes dryRun, which kubectl checks before it asks for one', () => {
  const path = fieldsOf(into(document, 8), 2).find(
    (named) => textOf(named, 1) === '/api/v1/namespaces/{namespace}/services/{name}',
  )
  const patch = into(path ?? new Uint8Array(), 2, 8)
  const queries = fieldsOf(patch, 8).map((parameter) => textOf(into(parameter, 1, 2, 3), 4))
  expect(queries).toContain('dryRun')
})
