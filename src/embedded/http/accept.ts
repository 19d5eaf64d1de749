/** Which form of an answer a client asks for in its Accept header. */
import { notAcceptable } from '../status.ts'

type Representation =
  | { readonly as: 'object' }
  | { readonly as: 'metadata' }
  | { readonly as: 'table'; readonly apiVersion: 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1' }

type MediaType = 'application/json' | 'application/yaml'

export interface Accepted {
  readonly representation: Representation
  readonly mediaType: MediaType
}

const offered = ['application/json', 'application/yaml']

/** The first form in the header that this server has. */
export function negotiate(header: string | undefined): Accepted {
  for (const { type, parameters } of parseAccept(header)) {
    const mediaType = mediaTypeOf(type)
    const representation = representationOf(parameters)
    if (mediaType !== undefined && representation !== undefined) return { mediaType, representation }
  }
  throw notAcceptable(offered)
}

export interface AcceptedType {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

/** In the order of the header, which all clients we know use as the order of preference. */
export function parseAccept(header = '*/*'): AcceptedType[] {
  return header
    .split(',')
    .filter((item) => item.trim() !== '')
    .map((item) => {
      const [type = '', ...parameters] = item.split(';').map((part) => part.trim())
      return {
        type: type.toLowerCase(),
        parameters: new Map(parameters.map((parameter) => splitOnce(parameter, '='))),
      }
    })
}

function mediaTypeOf(type: string): MediaType | undefined {
  if (type === 'application/json' || type === '*/*' || type === 'application/*') return 'application/json'
  return type === 'application/yaml' ? type : undefined
}

function representationOf(parameters: ReadonlyMap<string, string>): Representation | undefined {
  const as = parameters.get('as')
  if (as === undefined) return { as: 'object' }
  const apiVersion = `${parameters.get('g') ?? ''}/${parameters.get('v') ?? ''}`
  if (apiVersion !== 'meta.k8s.io/v1' && apiVersion !== 'meta.k8s.io/v1beta1') return undefined
  if (as === 'Table') return { as: 'table', apiVersion }
  return as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList' ? { as: 'metadata' } : undefined
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
