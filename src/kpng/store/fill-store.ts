import type { FileState } from '../model/state-file.ts'
import { servicePath } from '../wire/paths.ts'
import type { GlobalStore } from './global-store.ts'

/** Makes the store equal to a file; what is not in the file is removed. */
export function fillStore(store: GlobalStore, { nodes, services }: FileState): void {
  const paths = new Set<string>()
  for (const node of nodes) store.setNode(node)
  for (const { service, endpoints } of services) {
    const { Namespace: namespace, Name: name } = service.service
    paths.add(servicePath(namespace, name))
    store.setService(service)
    // Sources of one namespace need different names, and each Service is one source.
    store.replaceSource({ namespace, service: name, source: `file-${name}`, endpoints })
  }
  for (const [, path] of store.sources())
    if (!paths.has(path)) {
      const [namespace = '', name = ''] = path.split('/')
      store.deleteSource(namespace, `file-${name}`)
    }
  for (const path of store.servicePaths()) if (!paths.has(path)) store.deleteService(path)
  const names = new Set(nodes.map(({ node }) => node.Name))
  for (const name of store.nodeNames()) if (!names.has(name)) store.deleteNode(name)
  for (const set of ['nodes', 'services', 'endpoints'] as const) store.markSynced(set)
}
