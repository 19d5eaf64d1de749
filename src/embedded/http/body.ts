/** Reads request bodies: bounded in size; JSON, YAML, or protobuf where the kind is known. */
import type { IncomingMessage } from 'node:http'
import { parse as parseYaml } from 'yaml'
import { decodeProtobuf } from '../resources/decode-protobuf.ts'
import type { KindSchema } from '../resources/schema.ts'
import { badRequest, tooLarge, unsupportedMediaType } from '../status.ts'

/** The limit of a real API server. */
const maxBodyBytes = 3 * 1024 * 1024

/** kubectl 1.32 and later sends it for `create service` and `create namespace`. */
const protobufType = 'application/vnd.kubernetes.protobuf'

export interface Body {
  /** Without parameters; empty if the client gave none. */
  readonly mediaType: string
  readonly text: string
  readonly bytes: Uint8Array
}

export async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBodyBytes) throw tooLarge(`limit is ${maxBodyBytes}`)
    chunks.push(chunk)
  }
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0] ?? ''
  const bytes = Buffer.concat(chunks)
  return { mediaType: mediaType.trim().toLowerCase(), text: bytes.toString(), bytes }
}

export function parseObject(body: Body, schema?: KindSchema): Record<string, unknown> {
  const value = parseByType(body, schema)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('the request body must hold one object')
  return value as Record<string, unknown>
}

function parseByType({ mediaType, text, bytes }: Body, schema: KindSchema | undefined): unknown {
  if (mediaType === '' || mediaType === 'application/json') return parseJson(text)
  if (mediaType === 'application/yaml') return parseYamlText(text)
  if (mediaType !== protobufType || schema === undefined)
    throw unsupportedMediaType([
      'application/json',
      'application/yaml',
      ...(schema === undefined ? [] : [protobufType]),
    ])
  const decoded = decodeProtobuf(bytes, schema)
  if (!decoded.ok) throw badRequest(decoded.message)
  return decoded.body
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${(error as Error).message}`, error)
  }
}

/** JSON is YAML, too. */
function parseYamlText(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 100 })
  } catch (error) {
    throw badRequest(`error decoding YAML: ${(error as Error).message}`, error)
  }
}
