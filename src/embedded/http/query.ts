/** The query parameters of lists and watches, checked as a real API server checks them. */
import type { FieldError, ResourceType } from '../resource.ts'
import { parseFieldSelector } from './selector-fields.ts'
import type { FieldSelector } from './selector-fields.ts'
import { parseLabelSelector } from './selector-labels.ts'
import type { LabelSelector } from './selector-labels.ts'
import { ApiError, badRequest, invalid } from '../status.ts'

export interface Selection {
  readonly labels: LabelSelector | undefined
  readonly fields: FieldSelector | undefined
}

export interface ListQuery {
  readonly selection: Selection
  /** 0: no limit. */
  readonly limit: number
  readonly continueToken: string | undefined
  /** By default the latest. 0: any. */
  readonly revision: number | undefined
  readonly match: 'Exact' | 'NotOlderThan' | undefined
}

export interface WatchQuery {
  readonly selection: Selection
  readonly revision: number | undefined
  readonly sendInitialEvents: boolean | undefined
  readonly allowBookmarks: boolean
  readonly timeoutSeconds: number | undefined
}

export function isWatch(query: URLSearchParams): boolean {
  return booleanOf(query, 'watch') === true
}

export function parseListQuery(query: URLSearchParams, type: ResourceType): ListQuery {
  refuse(listProblems(query))
  const continueToken = query.get('continue') || undefined
  const revision = revisionOf(query)
  if (continueToken !== undefined && revision !== undefined && revision !== 0)
    throw badRequest('specifying resource version is not allowed when using continue')
  return {
    selection: parseSelection(query, type),
    limit: countOf(query, 'limit') ?? 0,
    continueToken,
    revision,
    match: (query.get('resourceVersionMatch') || undefined) as ListQuery['match'],
  }
}

/** `hasStreamingLists` false refuses sendInitialEvents, as servers before 1.27 do. */
export function parseWatchQuery(query: URLSearchParams, type: ResourceType, hasStreamingLists: boolean): WatchQuery {
  refuse(watchProblems(query, hasStreamingLists))
  return {
    selection: parseSelection(query, type),
    revision: revisionOf(query),
    sendInitialEvents: booleanOf(query, 'sendInitialEvents'),
    allowBookmarks: booleanOf(query, 'allowWatchBookmarks') === true,
    timeoutSeconds: countOf(query, 'timeoutSeconds'),
  }
}

export function parseSelection(query: URLSearchParams, type: ResourceType): Selection {
  return {
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(query.get('fieldSelector') ?? '', type),
  }
}

/** Anything but "false" and "0" is true, as in Kubernetes. */
export function booleanOf(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name)
  return text === null ? undefined : text.toLowerCase() !== 'false' && text !== '0'
}

function listProblems(query: URLSearchParams): FieldError[] {
  const match = query.get('resourceVersionMatch') ?? ''
  const problems: FieldError[] = []
  if (match !== '') {
    if ((query.get('resourceVersion') ?? '') === '')
      problems.push(forbiddenMatch('resourceVersionMatch is forbidden unless resourceVersion is provided'))
    if ((query.get('continue') ?? '') !== '')
      problems.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'))
    if (match !== 'Exact' && match !== 'NotOlderThan')
      problems.push(unsupportedMatch(match, '"Exact", "NotOlderThan", ""'))
    if (match === 'Exact' && query.get('resourceVersion') === '0')
      problems.push(forbiddenMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
  }
  if (query.has('sendInitialEvents'))
    problems.push(forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  return problems
}

function watchProblems(query: URLSearchParams, hasStreamingLists: boolean): FieldError[] {
  const match = query.get('resourceVersionMatch') ?? ''
  const problems: FieldError[] = []
  if (query.has('sendInitialEvents')) {
    if (match !== 'NotOlderThan')
      problems.push(forbiddenMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'))
    if (!hasStreamingLists) {
      const why = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled'
      problems.push(forbiddenField('sendInitialEvents', why))
    }
  }
  if (match !== '') {
    if (!query.has('sendInitialEvents'))
      problems.push(forbiddenMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'))
    if (match !== 'NotOlderThan') problems.push(unsupportedMatch(match, '"NotOlderThan"'))
    if ((query.get('continue') ?? '') !== '')
      problems.push(forbiddenMatch('resourceVersionMatch is forbidden when continue is provided'))
  }
  return problems
}

function refuse(problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', problems)
}

function forbiddenMatch(why: string): FieldError {
  return forbiddenField('resourceVersionMatch', why)
}

function forbiddenField(field: string, why: string): FieldError {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${why}` }
}

function unsupportedMatch(match: string, supported: string): FieldError {
  const message = `Unsupported value: ${JSON.stringify(match)}: supported values: ${supported}`
  return { field: 'resourceVersionMatch', reason: 'FieldValueNotSupported', message }
}

function revisionOf(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? ''
  if (text === '') return undefined
  const revision = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(revision))
    throw badRequest(`invalid resource version: ${JSON.stringify(text)} is not an unsigned integer`)
  return revision
}

function countOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (!/^-?\d{1,15}$/.test(text))
    throw new ApiError(400, 'BadRequest', `${name}: ${JSON.stringify(text)} is not an integer`)
  return Math.max(0, Number(text))
}
