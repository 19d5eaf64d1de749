/** Discovery in its old form: one document per group and version. */
import type { ResourceType } from '../resource.ts'
import { noSuchResource } from '../status.ts'

export interface DiscoveryGroup {
  readonly name: string
  /** Preferred first. */
  readonly versions: readonly string[]
}

const mainVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const
export const statusVerbs = ['get', 'patch', 'update'] as const

/** Without the core group, which has its own document in discovery. */
export function groupsOf(types: readonly ResourceType[]): DiscoveryGroup[] {
  const names = [...new Set(types.map((type) => type.group))].filter((name) => name !== '')
  return names.sort().map((name) => ({ name, versions: versionsOf(types, name) }))
}

export function versionsOf(types: readonly ResourceType[], group: string): string[] {
  return [...new Set(types.filter((type) => type.group === group).map((type) => type.version))]
}

export function verbsOf(type: ResourceType): readonly string[] {
  return type.plural === 'namespaces' ? mainVerbs.filter((verb) => verb !== 'deletecollection') : mainVerbs
}

/** `/api` */
export function coreVersions(types: readonly ResourceType[], address: string): object {
  return {
    kind: 'APIVersions',
    versions: versionsOf(types, ''),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  }
}

/** `/apis` */
export function groupList(types: readonly ResourceType[]): object {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groupsOf(types).map(groupDocument) }
}

/** `/apis/<group>` */
export function groupByName(types: readonly ResourceType[], name: string): object {
  const group = groupsOf(types).find((candidate) => candidate.name === name)
  if (group === undefined) throw noSuchResource()
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(group) }
}

/** `/api/v1`, `/apis/<group>/<version>` */
export function resourceList(types: readonly ResourceType[], group: string, version: string): object {
  const served = types.filter((type) => type.group === group && type.version === version)
  if (served.length === 0) throw noSuchResource()
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: served.flatMap((type) => [
      {
        name: type.plural,
        singularName: type.singular,
        namespaced: type.isNamespaced,
        kind: type.kind,
        verbs: verbsOf(type),
        ...(type.shortNames.length === 0 ? {} : { shortNames: type.shortNames }),
        ...(type.categories.length === 0 ? {} : { categories: type.categories }),
      },
      ...(type.hasStatus ? [statusResource(type)] : []),
    ]),
  }
}

function groupDocument({ name, versions }: DiscoveryGroup): object {
  const documents = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: documents, preferredVersion: documents[0] }
}

function statusResource(type: ResourceType): object {
  return {
    name: `${type.plural}/status`,
    singularName: '',
    namespaced: type.isNamespaced,
    kind: type.kind,
    verbs: statusVerbs,
  }
}
