/** Reads request bodies: bounded in size, JSON or YAML. */
import type { IncomingMessage } from 'node:http'
import { parse as parseYaml } from 'yaml'
import { ApiError, badRequest, unsupportedMediaType } from './status.ts'

/** What a real API server takes at most. */
const maxBodyBytes = 3 * 1024 * 1024

export interface Body {
  /** Without parameters; empty when the client named none. */
  readonly mediaType: string
  readonly text: string
}

export async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBodyBytes)
      throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`)
    chunks.push(chunk)
  }
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0] ?? ''
  return { mediaType: mediaType.trim().toLowerCase(), text: Buffer.concat(chunks).toString() }
}

/** The object of a create, update or delete. */
export function parseObject({ mediaType, text }: Body): Record<string, unknown> {
  const value =
    mediaType === '' || mediaType === 'application/json'
      ? parseJson(text)
      : mediaType === 'application/yaml'
        ? parseYamlText(text)
        : unsupported()
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('the request body must hold one object')
  return value as Record<string, unknown>
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${(error as Error).message}`, error)
  }
}

/** YAML, which JSON is a part of. */
export function parseYamlText(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 100 })
  } catch (error) {
    throw badRequest(`error decoding YAML: ${(error as Error).message}`, error)
  }
}

function unsupported(): never {
  throw unsupportedMediaType(['application/json', 'application/yaml'])
}
