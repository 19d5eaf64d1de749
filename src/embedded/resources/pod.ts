/**
 * Pods can be listed but not created, because nothing here could run them. `kubectl describe node` and `kubectl get
 * all` ask for them and fail if the kind is unknown.
 */
import type { ApiObject, ResourceType } from '../resource.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import { defineResource } from './define-resource.ts'
import { forbidden } from './field-errors.ts'
import { wrongDns1123Subdomain } from './names.ts'
import { podSchema } from './schemas/pod.ts'

interface Pod extends ApiObject {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly phase?: string; readonly podIP?: string }
}

export const pods: ResourceType = defineResource<Pod>({
  schema: podSchema,
  plural: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  isNamespaced: true,
  hasStatus: true,
  wrongName: wrongDns1123Subdomain,
  selectableFields: {
    'spec.nodeName': ({ spec }) => spec?.nodeName ?? '',
    'status.phase': ({ status }) => status?.phase ?? '',
    'status.podIP': ({ status }) => status?.podIP ?? '',
  },
  columns: [nameColumn, column('Status', 'Phase of the pod.'), ageColumn],
  cells: ({ metadata, status }, nowMs) => [
    metadata.name,
    status?.phase ?? '',
    renderAge(metadata.creationTimestamp, nowMs),
  ],
  validate: () => [
    forbidden(
      'spec',
      'the embedded API server runs no pods; start the program yourself and list it in an EndpointSlice',
    ),
  ],
})
