/** What every kind has: type, metadata, and the references that several kinds share. */
import type { KindSchema, ObjectSchema, Schema } from '../schema.ts'
import { atomicList, boolean, field, int64, keyedList, map, object, setList, string, time } from '../schema.ts'

const ownerReference = object(
  'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference',
  'Names an object that owns this one. Owners are in the same namespace or cluster-scoped.',
  {
    apiVersion: string('API version of the owner.'),
    kind: string('Kind of the owner.'),
    name: string('Name of the owner.'),
    uid: string('UID of the owner.'),
    controller: boolean('True when the owner is the managing controller.'),
    blockOwnerDeletion: boolean('True when a foreground deletion of the owner waits for this object.'),
  },
  ['apiVersion', 'kind', 'name', 'uid'],
)

const managedFieldsEntry = object(
  'io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry',
  'The fields that one manager set, and how.',
  {
    manager: string('Who manages these fields.'),
    operation: string('Apply or Update.'),
    apiVersion: string('The API version the fields are written in.'),
    time: time('When the entry was last changed.'),
    fieldsType: string('The format of fieldsV1; always "FieldsV1".'),
    fieldsV1: { type: 'any', description: 'The set of fields, as a tree of path elements.' },
    subresource: string('The subresource that was used, or empty for the object itself.'),
  },
)

const objectMeta = object('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', 'Metadata that every stored object has.', {
  name: string('Unique within a namespace. It cannot be changed.'),
  generateName: string('A prefix from which the server makes a unique name when name is empty.'),
  namespace: string('The namespace the name is unique in. Empty for cluster-scoped objects. It cannot be changed.'),
  selfLink: string('Deprecated; the server no longer fills it in.'),
  uid: string('Unique in time and space. The server sets it.'),
  resourceVersion: string(
    'Changes with every write. Give it back in an update to refuse to overwrite a newer version.',
  ),
  generation: int64('Counts the changes of the desired state. The server sets it.'),
  creationTimestamp: time('When the object was created. The server sets it.'),
  deletionTimestamp: time('When the object goes away once its finalizers are gone. The server sets it.'),
  deletionGracePeriodSeconds: int64('Seconds that the object was given to end gracefully.'),
  labels: map('Keys and values that selectors match.'),
  annotations: map('Keys and values that tools store with the object. They cannot be selected by.'),
  ownerReferences: keyedList('The objects that own this one.', ownerReference, ['uid']),
  finalizers: setList('What must happen before the object is removed from the store.', string('')),
  managedFields: atomicList('Who manages which field.', managedFieldsEntry),
})

export const objectReference: ObjectSchema = {
  ...object('io.k8s.api.core.v1.ObjectReference', 'Enough to find another object.', {
    apiVersion: string('API version of the object.'),
    kind: string('Kind of the object.'),
    namespace: string('Namespace of the object.'),
    name: string('Name of the object.'),
    uid: string('UID of the object.'),
    resourceVersion: string('The version that is meant, if any.'),
    fieldPath: string('A part of the object, such as spec.containers{name}.'),
  }),
  isAtomic: true,
}

export const condition = object(
  'io.k8s.apimachinery.pkg.apis.meta.v1.Condition',
  'One aspect of the current state.',
  {
    type: string('What the condition is about.'),
    status: string('True, False or Unknown.'),
    observedGeneration: int64('The generation that the condition was set for.'),
    lastTransitionTime: time('When the status last changed.'),
    reason: string('Why, in one CamelCase word.'),
    message: string('Why, for a person.'),
  },
  ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
)

export function kindSchema(input: {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly description: string
  readonly fields: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}): KindSchema {
  const { group, version, kind } = input
  const fields = {
    apiVersion: string('The schema version of this object, such as v1 or discovery.k8s.io/v1.'),
    kind: string('The kind of this object.'),
    metadata: field(objectMeta, 'Standard metadata of the object.'),
    ...input.fields,
  }
  return { ...object(input.name, input.description, fields, input.required ?? []), kind: { group, version, kind } }
}
