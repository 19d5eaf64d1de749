import type { ApiObject, ResourceType } from '../resource.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import { defineResource } from './define-resource.ts'
import { wrongDns1123Label } from './names.ts'
import { namespaceSchema } from './schemas/namespace.ts'

interface Namespace extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] }
  readonly status?: { readonly phase?: string }
}

export const namespaces: ResourceType = defineResource<Namespace>({
  schema: namespaceSchema,
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  isNamespaced: false,
  hasStatus: true,
  wrongName: wrongDns1123Label,
  selectableFields: { 'status.phase': ({ status }) => status?.phase ?? '' },
  columns: [nameColumn, column('Status', 'Active or Terminating.'), ageColumn],
  cells: ({ metadata, status }, nowMs) => [
    metadata.name,
    status?.phase ?? '',
    renderAge(metadata.creationTimestamp, nowMs),
  ],
  complete: (namespace, old) => ({
    object: {
      ...namespace,
      // Selectors find a namespace by this label, so every namespace has it.
      metadata: {
        ...namespace.metadata,
        labels: { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': namespace.metadata.name },
      },
      // The embedded server deletes a namespace's objects itself, so no finalizer is needed.
      spec: namespace.spec ?? {},
      status: old === undefined ? { phase: 'Active' } : { phase: 'Active', ...namespace.status },
    },
    errors: [],
  }),
  validate: () => [],
})
