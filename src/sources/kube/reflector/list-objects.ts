/** Gets all objects with LIST, in pages where that spares the server. */
import type { KubeClient } from '../kube-client.ts'
import { KubeError } from '../kube-error.ts'
import { asObject, asString } from '../unchecked-json.ts'
import type { ResourceQuery } from './resource-query.ts'

const pageSize = 500

export interface ListRequest<Item> {
  readonly client: KubeClient
  readonly query: ResourceQuery
  /** `0`: whatever the server has in its cache. A version: not older than that. Empty: the newest. */
  readonly notOlderThan: string
  /** Called for each object as it arrives, so that the raw JSON can be freed. */
  readonly read: (object: unknown) => Item
}

export interface ListResult<Item> {
  readonly items: readonly Item[]
  /** Where to start watching. */
  readonly version: string
}

export async function listObjects<Item>(request: ListRequest<Item>, signal: AbortSignal): Promise<ListResult<Item>> {
  const { notOlderThan } = request
  // For a version the server answers from its cache, but only to a list without pages. Pages would all go to etcd.
  if (notOlderThan !== '' && notOlderThan !== '0')
    return listPages(request, { resourceVersion: notOlderThan, resourceVersionMatch: 'NotOlderThan' }, signal)
  const firstPage = { limit: pageSize, resourceVersion: notOlderThan === '' ? undefined : notOlderThan }
  try {
    return await listPages(request, firstPage, signal)
  } catch (error) {
    if (!(error instanceof ExpiredPages)) throw error
    // The list was compacted away between two pages, which would likely happen again with as many pages.
    return listPages(request, {}, signal)
  }
}

type Parameters = Readonly<Record<string, string | number | undefined>>

async function listPages<Item>(
  { client, query, read }: ListRequest<Item>,
  first: Parameters,
  signal: AbortSignal,
): Promise<ListResult<Item>> {
  const items: Item[] = []
  let parameters = first
  for (;;) {
    const { labelSelector, fieldSelector } = query
    const page = await client
      .list(
        { path: query.path, query: { labelSelector, fieldSelector, ...parameters } },
        (object) => items.push(read(object)),
        signal,
      )
      .catch((error: unknown) => {
        throw parameters !== first && error instanceof KubeError && error.reason === 'gone' ? new ExpiredPages() : error
      })
    const { items: objects, metadata } = asObject(page) // Go writes an empty list as null
    const { resourceVersion, continue: token } = asObject(metadata)
    if (typeof resourceVersion !== 'string' || (objects !== null && !Array.isArray(objects)))
      throw new KubeError('protocol', `GET ${query.path}: the answer is not a list with a resourceVersion`)
    const next = asString(token) ?? ''
    if (next === '') return { items, version: resourceVersion }
    parameters = { limit: pageSize, continue: next }
  }
}

class ExpiredPages extends Error {}
