/**
 * `/flagz` and `/statusz`: text for people, or a versioned object for programs that ask for exactly that
 * (`Accept: application/json;v=v1beta1;g=config.k8s.io;as=Flagz`, or the same with yaml).
 */
import type { ServerResponse } from 'node:http'
import { stringify } from 'yaml'
import { admits, parseAccept } from './accept-header.ts'
import type { AcceptClause } from './accept-header.ts'
import { plainText, reply } from './reply.ts'
import type { HttpHandler } from './reply.ts'

export interface ZPage {
  readonly component: string
  readonly kind: 'Flagz' | 'Statusz'
  readonly text: () => string
  /** What follows `metadata` in the object. */
  readonly fields: () => Readonly<Record<string, unknown>>
}

const currentVersion = 'v1beta1'
const deprecatedVersion = 'v1alpha1'

export function zPageHandler(page: ZPage): HttpHandler {
  const endpoint = page.kind.toLowerCase()
  return (request, response) => {
    const clauses = parseAccept(request.headers.accept)
    for (const clause of clauses) {
      if (admits(clause, 'text', 'plain')) return reply(response, 200, { 'Content-Type': plainText }, renderText(page))
      const version = versionIn(clause, page.kind)
      if (version !== undefined) return replyObject(response, page, clause.subtype, version, endpoint)
    }
    replyNotAcceptable(response, clauses.some(({ subtype }) => subtype === 'yaml') ? 'yaml' : 'json')
  }
}

function renderText({ component, kind, text }: ZPage): string {
  const endpoint = kind.toLowerCase()
  const accept = `application/json;v=${currentVersion};g=config.k8s.io;as=${kind}`
  return `\n${component} ${endpoint}\nWarning: this text is for people and may change; programs ask for ${accept}\n${text()}`
}

/** The version that a clause asks for, if it names this page and an existing version. */
function versionIn({ type, subtype, parameters }: AcceptClause, kind: string): string | undefined {
  if (type !== 'application' || (subtype !== 'json' && subtype !== 'yaml')) return undefined
  if (parameters.get('g') !== 'config.k8s.io' || parameters.get('as') !== kind) return undefined
  return [currentVersion, deprecatedVersion].find((version) => parameters.get('v') === version)
}

function replyObject(response: ServerResponse, page: ZPage, format: string, version: string, endpoint: string): void {
  const object = {
    kind: page.kind,
    apiVersion: `config.k8s.io/${version}`,
    metadata: { name: page.component },
    ...page.fields(),
  }
  const isDeprecated = version === deprecatedVersion
  const headers = {
    'Content-Type': `application/${format};g=config.k8s.io;v=${version};as=${page.kind}`,
    ...(isDeprecated && { Warning: `299 - "${version} of ${endpoint} is deprecated: use ${currentVersion}"` }),
  }
  reply(response, 200, headers, render(object, format))
}

function replyNotAcceptable(response: ServerResponse, format: 'json' | 'yaml'): void {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
    reason: 'NotAcceptable',
    code: 406,
  }
  reply(response, 406, { 'Content-Type': `application/${format}` }, render(status, format))
}

function render(object: object, format: string): string {
  return format === 'yaml'
    ? stringify(object, { version: '1.1', sortMapEntries: true, indentSeq: false }) // Go quotes what YAML 1.1 would misread
    : JSON.stringify(object, undefined, 2)
}
